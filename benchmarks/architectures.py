"""How many regions of whole models become problems, over architectures of transformers, timm and diffusers.

    python benchmarks/architectures.py [--unseen] [NAME...]

Random weights from configs, at their own sizes and few layers; no GPU is needed, and times are estimates. A name is seen
where the last hexadecimal digit of its SHA-256 is even; the others were looked at once, when nothing was left to mend.
Prints a row for each architecture and the reasons of exceptions: of the regions of at least 0.5 % of the time, how many
were written as problems, and how many of these qualify.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from kernelwright.jobs.whole_model import checked, write_problems
from kernelwright.jobs.worker import Desk, Shared
from kernelwright.problems.paths import PROBLEM_FILE
from kernelwright.report.whole_model import table_of
from kernelwright.worker.models.script import Script
from kernelwright.worker.models.survey import graphs_of, survey

HALF = torch.bfloat16


def words(length: int, most: int = 1000) -> torch.Tensor:
    return torch.randint(0, most, (1, length))


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=HALF)


def transformer(name: str, config: str, **values: Any) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        import transformers

        made = getattr(transformers, config)(**values)
        return getattr(transformers, name)(made).to(HALF)

    return build


def timm_model(name: str) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        import timm

        return timm.create_model(name).to(HALF)

    return build


def diffuser(name: str, **values: Any) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        import diffusers

        return getattr(diffusers, name)(**values).to(HALF)

    return build


def images(size: int = 224) -> dict[str, Any]:
    return {"args": [numbers(32, 3, size, size)]}


LEVELS = {"block_out_channels": (128, 256, 512, 512), "layers_per_block": 2, "latent_channels": 4,
          "down_block_types": ("DownEncoderBlock2D",) * 4, "up_block_types": ("UpDecoderBlock2D",) * 4}  # fmt: skip

ARCHITECTURES: dict[str, tuple[Callable[[], torch.nn.Module], Callable[[], dict[str, Any]]]] = {
    "BertModel": (transformer("BertModel", "BertConfig", num_hidden_layers=2),
                  lambda: {"input_ids": torch.randint(0, 1000, (32, 512)), "attention_mask": torch.ones(32, 512).long()}),
    "T5Model": (transformer("T5Model", "T5Config", d_model=1024, d_ff=4096, num_heads=16, num_layers=2, use_cache=False),
                lambda: {"input_ids": words(1024), "decoder_input_ids": words(512)}),
    "Gemma3TextModel": (transformer("Gemma3TextModel", "Gemma3TextConfig", num_hidden_layers=6, use_cache=False),
                        lambda: {"input_ids": words(4096)}),
    "Mamba2Model": (transformer("Mamba2Model", "Mamba2Config", num_hidden_layers=2, use_cache=False),
                    lambda: {"input_ids": words(1024)}),
    "Wav2Vec2Model": (transformer("Wav2Vec2Model", "Wav2Vec2Config", num_hidden_layers=2),
                      lambda: {"input_values": numbers(1, 160000)}),
    "WhisperModel": (transformer("WhisperModel", "WhisperConfig", d_model=1024, encoder_layers=2, decoder_layers=2,
                                 encoder_attention_heads=16, decoder_attention_heads=16, encoder_ffn_dim=4096,
                                 decoder_ffn_dim=4096, use_cache=False),
                     lambda: {"input_features": numbers(8, 80, 3000), "decoder_input_ids": torch.ones(8, 256).long()}),
    "swin_base_patch4_window7_224": (timm_model("swin_base_patch4_window7_224"), images),
    "efficientnet_b4": (timm_model("efficientnet_b4"), lambda: images(320)),
    "maxvit_small_tf_224": (timm_model("maxvit_small_tf_224"), images),
    "resnet50": (timm_model("resnet50"), images),
    "UNet2DConditionModel": (diffuser("UNet2DConditionModel", cross_attention_dim=768),
                             lambda: {"sample": numbers(2, 4, 64, 64), "timestep": torch.tensor(10),
                                      "encoder_hidden_states": numbers(2, 77, 768), "return_dict": False}),
    "AutoencoderKL": (diffuser("AutoencoderKL", **LEVELS),
                      lambda: {"sample": numbers(1, 3, 512, 512), "return_dict": False}),
    "FluxTransformer2DModel": (diffuser("FluxTransformer2DModel", num_layers=1, num_single_layers=2, guidance_embeds=True),
                               lambda: {"hidden_states": numbers(1, 1024, 64), "encoder_hidden_states": numbers(1, 512, 4096),
                                        "pooled_projections": numbers(1, 768), "timestep": numbers(1),
                                        "img_ids": torch.zeros(1024, 3), "txt_ids": torch.zeros(512, 3),
                                        "guidance": numbers(1), "return_dict": False}),
    "SD3Transformer2DModel": (diffuser("SD3Transformer2DModel", num_layers=2),
                              lambda: {"hidden_states": numbers(2, 16, 128, 128), "encoder_hidden_states": numbers(2, 154, 4096),
                                       "pooled_projections": numbers(2, 2048), "timestep": torch.tensor([1.0, 1.0]),
                                       "return_dict": False}),
    "Gemma2Model": (transformer("Gemma2Model", "Gemma2Config", num_hidden_layers=2, use_cache=False),
                    lambda: {"input_ids": words(4096)}),
    "Phi3Model": (transformer("Phi3Model", "Phi3Config", num_hidden_layers=2, use_cache=False, pad_token_id=0),
                  lambda: {"input_ids": words(2048)}),
    "GPTNeoXModel": (transformer("GPTNeoXModel", "GPTNeoXConfig", num_hidden_layers=2, hidden_size=2048,
                                 intermediate_size=8192, num_attention_heads=16, use_cache=False),
                     lambda: {"input_ids": words(2048)}),
    "DebertaV2Model": (transformer("DebertaV2Model", "DebertaV2Config", num_hidden_layers=2, hidden_size=768,
                                   num_attention_heads=12, intermediate_size=3072),
                       lambda: {"input_ids": torch.randint(0, 1000, (8, 256)), "attention_mask": torch.ones(8, 256).long()}),
    "CLIPVisionModel": (transformer("CLIPVisionModel", "CLIPVisionConfig", num_hidden_layers=2),
                        lambda: {"pixel_values": numbers(32, 3, 224, 224)}),
    "OlmoeModel": (transformer("OlmoeModel", "OlmoeConfig", num_hidden_layers=1, use_cache=False),
                   lambda: {"input_ids": words(1024)}),
    "SegformerModel": (transformer("SegformerModel", "SegformerConfig"), lambda: {"pixel_values": numbers(8, 3, 512, 512)}),
    "FalconModel": (transformer("FalconModel", "FalconConfig", num_hidden_layers=2, use_cache=False),
                    lambda: {"input_ids": words(1024)}),
    "HubertModel": (transformer("HubertModel", "HubertConfig", num_hidden_layers=2),
                    lambda: {"input_values": numbers(1, 160000)}),
    "convnextv2_base": (timm_model("convnextv2_base"), images),
    "vit_base_patch16_siglip_224": (timm_model("vit_base_patch16_siglip_224"), images),
    "mobilenetv4_conv_medium": (timm_model("mobilenetv4_conv_medium"), images),
    "regnety_032": (timm_model("regnety_032"), images),
}  # fmt: skip


def is_seen(name: str) -> bool:
    return int(hashlib.sha256(name.encode()).hexdigest()[-1], 16) % 2 == 0


def counted(name: str, desk: Desk, out: Path) -> tuple[int, int, int]:
    """The regions of an architecture that matter, those that are written, and those that qualify."""
    build, given = ARCHITECTURES[name]
    began = time.perf_counter()
    script = Script(Path(f"{name}.py"), {"build": build, "inputs": lambda: {"call": given()}}, "build")
    made, _ = survey(script, graphs_of(script, "cpu"))
    took = time.perf_counter() - began
    with desk.worker() as worker:
        found = table_of(made, worker.environment())
    matter = [row for row in found.shown if row.part.kind == "region"]
    moved = [row for row in matter if row.part.refused == "it only moves or casts elements"]
    weights = found.weights()
    folder = write_problems(made, weights, out)
    reasons = {row.part.name: row.part.refused for row in matter if row.part.refused and row not in moved}
    checks = {one: checked(folder / one / PROBLEM_FILE, desk) for one in weights}
    good = sum(not why for why in checks.values())
    share = found.share(*matter)
    print(f"| {name} | {'seen' if is_seen(name) else 'unseen'} | {made.graphs} | {share:.0%} | {len(matter)} | {len(moved)} | "
          f"{len(weights)} | {good} | {took:.0f} |", flush=True)  # fmt: skip
    for region, why in (reasons | {one: why for one, why in checks.items() if why}).items():
        print(f"  {region}: {why[:300]}", flush=True)
    return len(matter) - len(moved), len(weights), good


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--out")
    given = parser.parse_args()
    names = given.names or [name for name in ARCHITECTURES if is_seen(name) != given.unseen]
    out = Path(given.out or tempfile.mkdtemp())
    print("| architecture | | graphs | regions' part of the time | regions over 0.5 % | only move | written | qualify | survey, s |")
    print("|---|---|---|---|---|---|---|---|---|")
    total = [0, 0, 0]
    desk = Desk(lambda line: None)
    with contextlib.closing(Shared(desk.start_worker)) as one_worker:
        for name in names:
            try:
                found = counted(name, replace(desk, start_worker=one_worker), out)
                total = [one + more for one, more in zip(total, found, strict=True)]
            except Exception as error:  # one architecture must not end the others
                print(f"| {name} | failed: {type(error).__name__}: {str(error)[:300]} |", flush=True)
    print(f"regions that compute: {total[0]}, written: {total[1]}, qualify: {total[2]}")


if __name__ == "__main__":
    main()
