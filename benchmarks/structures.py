"""The kernels of structures in many configs, beside eager, `torch.compile`, max-autotune, SDPA's backends and flex.

    python benchmarks/structures.py write OUT [--only NAME]     candidates as text; needs no GPU
    python benchmarks/structures.py check OUT                   every config compiles for sm_90; needs no GPU
    python benchmarks/structures.py time OUT [--seconds 240]    on the first visible GPU
    python benchmarks/structures.py table OUT

`time` compiles all configs in parallel processes, then times each in this one by kernelwright's clock, and compares its
result with PyTorch's. OUT/times.jsonl gets a line for each; what has one is not tried again, so that the work can be
done in parts. Configs come before the other implementations, and of each problem in turn. Bounds are of measured peaks.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

Config = Mapping[str, int]

SAMPLES = 7

FLAWED = 0.03
"""Largest difference from PyTorch's result over its largest element: of a right kernel in bfloat16 it is below 0.01."""

SHARED_BYTES = 227 * 1024


@dataclass(frozen=True)
class Problem:
    """text: of a PyTorch file. configs: of the structure's tunables. flop, bytes: that every implementation needs.
    candidate: problems with the same one have the same kernels, as their sizes are symbols."""

    name: str
    candidate: str
    structure: str
    text: str
    configs: tuple[Config, ...]
    flop: float
    bytes: float


HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F

"""

TAIL = """

def get_init_inputs():
    return []


CASES = [dict(name="timed")]
"""


def product(**choices: tuple[int, ...]) -> list[Config]:
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


ATTENTION = """
class Model(nn.Module):
    def forward(self, {names}):
        {body}


def get_inputs():
    half = torch.bfloat16
    return [torch.randn(B, H, S, D, dtype=half), *(torch.randn(B, K, T, D, dtype=half) for _ in range(2)){more}]
"""

SDPA = "return F.scaled_dot_product_attention(q, k, v, {}enable_gqa=True)"

FORWARD: dict[str, tuple[str, str, float]] = {
    "full": ("", SDPA.format(""), 1), "causal": ("", SDPA.format("is_causal=True, "), 0.5),
    "padding": (", torch.rand(B, T) < 0.9", SDPA.format("attn_mask=mask[:, None, None], "), 1),
    "materialised": (
        ", torch.full((S, T), torch.finfo(half).min, dtype=half).triu(1)[None, None].expand(B, 1, S, T).contiguous()",
        SDPA.format("attn_mask=mask, "), 0.5),
    "window": ("", "rows = torch.arange(S, device=q.device)\n"
               "        apart = rows[:, None] - rows\n        mask = (apart >= 0) & (apart < 1024)\n"
               "        " + SDPA.format("attn_mask=mask, "), 0.0),
    "soft_cap": ("", "k, v = (x.repeat_interleave(H // K, 1) for x in (k, v))\n"
                 "        scores = 50.0 * torch.tanh(q @ k.mT * D**-0.5 / 50.0)\n"
                 '        mask = torch.full((S, S), float("-inf"), device=q.device).triu(1)\n'
                 "        return (scores + mask).softmax(-1, dtype=torch.float32).to(q.dtype) @ v", 0.5),
}  # fmt: skip
"""Further inputs, forward, and the share of scores that is needed (0: of a window), by kind."""


def fits(config: Config, depth: int) -> bool:
    """Whether blocks of a forward fit into shared memory, and registers hold its accumulators."""
    rows, columns = config["BLOCK_M"], config["BLOCK_N"]
    kept = 2 * depth * (rows + 2 * config["NUM_STAGES"] * columns)
    return kept <= SHARED_BYTES and rows * (depth + columns) <= 224 * 32 * config["NUM_WARPS"]


def forward(kind: str, b: int, h: int, k: int, s: int, d: int, narrow: bool = False) -> Problem:
    more, body, share = FORWARD[kind]
    sizes = f"B, H, K, S, T, D = {b}, {h}, {k}, {s}, {s}, {d}\n"
    names = "q, k, v, mask" if more else "q, k, v"
    choices = product(BLOCK_M=(64, 128), BLOCK_N=(32, 64, 128), NUM_WARPS=(4, 8), NUM_STAGES=(2, 3, 4))
    configs = [one for one in choices if fits(one, d) and one["BLOCK_M"] <= 16 * one["NUM_WARPS"]]
    if narrow:
        configs = [one for one in configs if one["BLOCK_M"] == 128 and one["NUM_STAGES"] < 4]
    scores = s * min(s, 1024) if kind == "window" else share * s * s
    return Problem(
        name=f"{kind}_b{b}_h{h}_k{k}_s{s}_d{d}", candidate=f"{kind}{'_grouped' * (h != k)}", structure="attention",
        text=HEAD + sizes + ATTENTION.format(names=names, body=body, more=more) + TAIL, configs=tuple(configs),
        flop=4 * b * h * scores * d, bytes=4 * b * s * d * (h + k),
    )  # fmt: skip


def decode(b: int, h: int, k: int, t: int, wide: bool) -> Problem:
    """wide: more than the parts of keys vary."""
    sizes = f"B, H, K, S, T, D = {b}, {h}, {k}, 1, {t}, 128\n"
    wanted = max(1, 264 // (b * k))
    splits = sorted({min(max(1, round(wanted * by)), t // 64, 128) for by in (0.5, 1, 2, 4)})
    blocks = product(BLOCK_N=(32, 64, 128), NUM_WARPS=(2, 4, 8), NUM_STAGES=(2, 3, 4)) if wide else product(
        BLOCK_N=(64, 128), NUM_WARPS=(4,), NUM_STAGES=(3,))  # fmt: skip
    configs = tuple({"SPLITS": count, **block} for block in blocks for count in splits)
    return Problem(
        name=f"decode_b{b}_h{h}_k{k}_t{t}", candidate=f"decode{'_alone' * (b == 1)}", structure="attention",
        text=HEAD + sizes + ATTENTION.format(names="q, k, v", body=SDPA.format(""), more="") + TAIL, configs=configs,
        flop=4 * b * h * t * 128, bytes=2 * 128 * b * (2 * t * k + 2 * h),
    )  # fmt: skip


LINEAR = """
class Model(nn.Module):
    def forward(self, x, {names}):
        {body}


def get_inputs():
    half = torch.bfloat16
    return [torch.randn(M, K, dtype=half), {weights}]
"""

WEIGHTS: dict[str, tuple[str, str, str, float]] = {
    "plain": ("w", "torch.randn(N, K, dtype=half) * K**-0.5", "return F.linear(x, w)", 2),
    "bytes": ("w, scales", "torch.randint(-128, 128, (N, K), dtype=torch.int8), torch.rand(N, dtype=half) * K**-0.5 / 64",
              "return F.linear(x, w.to(x.dtype)) * scales", 1),
    "nibbles": ("packed, scales, zeros", "torch.randint(0, 256, (N, K // 2), dtype=torch.uint8), "
                "torch.rand(N, K // G, dtype=half) * K**-0.5 / 4, torch.randint(0, 16, (N, K // G)).to(half)",
                "q = torch.stack([packed & 15, packed >> 4], -1).view(N, K // G, G).to(x.dtype)\n"
                "        return F.linear(x, ((q - zeros[:, :, None]) * scales[:, :, None]).view(N, K))", 0.53125),
    "gate": ("gate, up", "*(torch.randn(N, K, dtype=half) * K**-0.5 for _ in range(2))",
             "return F.silu(F.linear(x, gate)) * F.linear(x, up)", 4),
}  # fmt: skip
"""Names, weights, forward, and bytes for each place of the weights, by kind."""


def linear(kind: str, m: int, k: int, n: int, wide: bool = False) -> Problem:
    """wide: more than the parts of the sum vary."""
    names, weights, body, stored = WEIGHTS[kind]
    sizes = f"M, K, N, G = {m}, {k}, {n}, 128\n"
    blocks = [(64, 64), (32, 64), (128, 64)] if kind == "nibbles" else [(8, 512), (4, 512), (8, 1024), (16, 256)]
    if m > 1:
        blocks = [(64, 64), (128, 64), (32, 64)] if kind == "nibbles" else [(64, 128), (64, 64), (128, 64), (32, 128)]
    configs = [{"BLOCK_N": columns, "BLOCK_K": depth, "SPLITS": splits, "NUM_WARPS": warps, "NUM_STAGES": stages}
               for columns, depth in (blocks if wide else blocks[:1]) for splits in (1, 2, 4, 8, 16)
               for warps in ((4, 8) if wide else (4,)) for stages in ((2, 4) if m > 1 and wide else (3,))
               if 66 <= n // columns * splits <= 8192]  # fmt: skip
    return Problem(
        name=f"{kind}_m{m}_k{k}_n{n}", candidate=f"{kind}{'_alone' * (m == 1)}", structure="linear",
        text=HEAD + sizes + LINEAR.format(names=names, body=body, weights=weights) + TAIL, configs=tuple(configs),
        flop=2 * m * k * n * (2 if kind == "gate" else 1), bytes=k * n * stored + 2 * m * (k + n),
    )  # fmt: skip


def problems() -> list[Problem]:
    return [
        forward("causal", 2, 32, 8, 8192, 128),
        forward("causal", 4, 32, 32, 4096, 64),
        forward("full", 4, 16, 16, 4096, 128, narrow=True),
        forward("causal", 2, 16, 8, 4096, 256),
        forward("full", 8, 16, 16, 2048, 64, narrow=True),
        forward("padding", 32, 12, 12, 512, 64),
        forward("materialised", 2, 32, 8, 4096, 128, narrow=True),
        forward("window", 2, 32, 8, 8192, 128, narrow=True),
        forward("soft_cap", 2, 16, 8, 4096, 256, narrow=True),
        *(decode(b, h, 8, t, (b, t) in ((1, 8192), (8, 8192)) and h == 32)
          for h in (32, 64) for b in (1, 8, 64) for t in (2048, 8192, 32768)),
        *(linear("nibbles", 1, k, n, (k, n) == (8192, 8192))
          for k, n in ((8192, 8192), (8192, 16384), (7168, 20480), (8192, 81920), (4096, 14336))),
        *(linear("nibbles", m, 4096, 14336, m == 16) for m in (4, 16, 64)),
        *(linear(kind, m, 4096, 14336, m in (1, 16)) for kind in ("bytes", "plain", "gate") for m in (1, 16, 64)),
        linear("bytes", 16, 14336, 4096),
    ]  # fmt: skip


def module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def write(out: Path, found: list[Problem]) -> None:
    from kernelwright.errors import KernelwrightError
    from kernelwright.evaluator.client import start_worker
    from kernelwright.inductor import NotConverted, candidate_texts

    (out / "problems").mkdir(parents=True, exist_ok=True)
    (out / "candidates").mkdir(exist_ok=True)
    with start_worker(target="sm_90") as worker:
        for one in found:
            file = out / "problems" / f"{one.name}.py"
            file.write_text(one.text)
            if (out / "candidates" / f"{one.candidate}.py").exists():
                continue
            try:
                worker.load(str(file))
                text = candidate_texts(worker.generate(), "none")[0]
            except (KernelwrightError, NotConverted) as error:
                print(f"{one.name}: {error}", flush=True)
                continue
            if f"\ndef {one.structure}(" not in text:
                print(f"{one.name}: no {one.structure}", flush=True)
                continue
            (out / "candidates" / f"{one.candidate}.py").write_text(text)
            print(one.name, len(one.configs), flush=True)


def candidate(out: Path, one: Problem, config: Config) -> Any:
    """The candidate's module with a config."""
    made = module_of(out / "candidates" / f"{one.candidate}.py")
    for key, value in config.items():
        name = f"{one.structure.upper()}_{key}"
        getattr(made, name)  # a tunable that is not there is a mistake
        setattr(made, name, value)
    return made


def arguments(made: Any, model: Any, inputs: list[Any]) -> list[Any]:
    """Of `kernel_function`: inputs, then parameters and buffers by name."""
    from kernelwright.source.parameter_names import as_argument

    held = {as_argument(name): one for name, one in (*model.named_parameters(), *model.named_buffers())}
    names = [*inspect.signature(made.kernel_function).parameters][len(inputs) :]
    return [*inputs, *(held[name] for name in names)]


def built(out: Path, one: Problem, device: str) -> tuple[Any, list[Any]]:
    import torch

    made = module_of(out / "problems" / f"{one.name}.py")
    torch.manual_seed(0)
    with torch.device(device):
        return made.Model(*made.get_init_inputs()).eval(), made.get_inputs()


def compiled(out: Path, one: Problem, configs: list[Config]) -> list[str]:
    """Compile the kernels of some configs for sm_90, or read that they are compiled. Returns what failed for each."""
    import torch
    from triton.runtime.jit import JITFunction

    from kernelwright.devices import find_target
    from kernelwright.worker.compile.target import install

    install(find_target("sm_90"))
    run = getattr(JITFunction, "run_and_launch", JITFunction.run)
    JITFunction.run_and_launch = run  # type: ignore[attr-defined]
    JITFunction.run = lambda self, *args, **kwargs: run(self, *args, **{**kwargs, "warmup": True})  # type: ignore
    model, inputs = built(out, one, "meta")
    reasons = []
    for config in configs:
        made = candidate(out, one, config)
        try:
            with torch.no_grad():
                made.kernel_function(*arguments(made, model, inputs))
            reasons.append("")
        except Exception as error:  # noqa: BLE001 - a config that cannot be compiled is a result
            reasons.append(f"{type(error).__name__}: {error}"[:300])
    return reasons


def compile_all(out: Path, found: list[Problem], workers: int, end_s: float | None = None) -> Iterator[str]:
    """Yields each failure."""
    jobs = [(one, [*one.configs[start :: -(-len(one.configs) // 4)]]) for one in found
            for start in range(-(-len(one.configs) // 4))]  # fmt: skip
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(compiled, out, *job): job for job in jobs}
        try:
            for done in as_completed(running, timeout=end_s and max(1.0, end_s - time.monotonic())):
                one, configs = running[done]
                for config, why in zip(configs, done.result(), strict=True):
                    if why:
                        yield f"{one.name} {dict(config)}: {why}"
        except TimeoutError:
            yield "not all configs are compiled yet"
            pool.shutdown(wait=False, cancel_futures=True)


def others(one: Problem, model: Any, inputs: list[Any]) -> dict[str, Callable[[], Any]]:
    """Implementations beside the structure, by name; each is built when it is called first."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def compiled_with(mode: str | None) -> Callable[[], Any]:
        made: list[Any] = []

        def call() -> Any:
            if not made:
                torch._dynamo.reset()
                made.append(torch.compile(model, mode=mode, dynamic=False))
            return made[0](*inputs)

        return call

    def within(backend: SDPBackend) -> Callable[[], Any]:
        def call() -> Any:
            with sdpa_kernel(backend):
                return model(*inputs)

        return call

    found: dict[str, Callable[[], Any]] = {"eager": lambda: model(*inputs)}
    if one.structure == "attention" and "scaled_dot_product" in one.text:
        found |= {"cudnn": within(SDPBackend.CUDNN_ATTENTION), "flash": within(SDPBackend.FLASH_ATTENTION),
                  "efficient": within(SDPBackend.EFFICIENT_ATTENTION)}  # fmt: skip
        if one.name.startswith(("causal", "full", "decode")):
            found["flex"] = flex(inputs, one.name.startswith("causal"))
    return found | {"compile": compiled_with(None), "max_autotune": compiled_with("max-autotune-no-cudagraphs")}


def flex(inputs: list[Any], is_causal: bool) -> Callable[[], Any]:
    made: list[Any] = []

    def call() -> Any:
        import torch
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        if not made:
            torch._dynamo.reset()
            sizes = (inputs[0].shape[2], inputs[1].shape[2])
            causal = lambda b, h, row, column: row >= column  # noqa: E731
            mask = create_block_mask(causal, None, None, *sizes, device="cuda") if is_causal else None
            called = torch.compile(flex_attention, dynamic=False)
            made.append(lambda: called(*inputs, block_mask=mask, enable_gqa=True))
        return made[0]()

    return call


def time_all(out: Path, found: list[Problem], seconds: float, workers: int) -> None:
    end_s = time.monotonic() + seconds
    lines = out / "times.jsonl"
    done = {(row["problem"], row["way"], json.dumps(row["config"])) for row in rows_of(out)}
    left = [one for one in found if any((one.name, "structure", json.dumps(dict(c))) not in done for c in one.configs)]
    for failure in compile_all(out, left, workers, time.monotonic() + seconds / 2):
        print(failure, flush=True)
    print(f"compiled after {seconds - end_s + time.monotonic():.0f} s", flush=True)

    import torch

    from kernelwright.roofline import bound
    from kernelwright.worker.clock.clock import Timed, sets_needed
    from kernelwright.worker.clock.peaks import measured

    torch.set_grad_enabled(False)
    peaks = measured(out / "peaks.json").peaks
    properties = torch.cuda.get_device_properties(0)

    def add(one: Problem, way: str, config: Config, sets: list[list[Any]], call: Callable[[list[Any]], Any], expected: Any
            ) -> None:  # fmt: skip
        row: dict[str, Any] = {"problem": one.name, "way": way, "config": dict(config)}
        begun_s = time.monotonic()
        try:
            made = call(sets[0])
            error = ((made - expected).abs().max() / expected.abs().max()).item()
            timed = Timed([lambda given=given: call(given) for given in sets])
            timed.prepare(len(sets))
            taken = [timed.sample_us() for _ in range(SAMPLES)]
            least = bound(int(one.bytes), 0, {"bfloat16": int(one.flop)}, peaks, "").bound_us
            row |= {"us": round(statistics.median(taken), 2), "least_us": round(min(taken), 2), "error": round(error, 5),
                    "most_us": round(max(taken), 2), "share": round(least / statistics.median(taken), 4),
                    "tflop_s": round(one.flop / statistics.median(taken) / 1e6, 1), "method": timed.method}  # fmt: skip
        except Exception as reason:  # noqa: BLE001 - an implementation that cannot run is a result
            row["failed"] = f"{type(reason).__name__}: {reason}"[:300]
        row |= {"took_s": round(time.monotonic() - begun_s, 2), "device": properties.name, "torch": torch.__version__}
        with lines.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if "failed" in row or row["error"] > FLAWED:
            print(json.dumps(row), flush=True)

    for is_ours in (True, False):
        for one in found:
            ways = [("structure", config) for config in one.configs] if is_ours else [
                (way, {}) for way in others(one, None, [])]  # fmt: skip
            ways = [way for way in ways if (one.name, way[0], json.dumps(dict(way[1]))) not in done]
            if not (out / "candidates" / f"{one.candidate}.py").exists() or not ways:
                continue
            model, inputs = built(out, one, "cuda")
            expected = model(*inputs)
            count = sets_needed(int(one.bytes), properties.L2_cache_size, torch.cuda.mem_get_info()[0], int(one.bytes))
            sets = [inputs, *([item.clone() for item in inputs] for _ in range(count - 1))]
            for way, config in ways:
                if time.monotonic() > end_s:
                    print("out of time: run it again", flush=True)
                    return
                if is_ours:
                    made = candidate(out, one, config)
                    add(one, way, config, sets, lambda given: made.kernel_function(*arguments(made, model, given)), expected)
                else:
                    calls = [others(one, model, given) for given in sets]
                    by_set = {id(given): call[way] for given, call in zip(sets, calls, strict=True)}
                    add(one, way, config, sets, lambda given: by_set[id(given)](), expected)
            del sets, inputs, expected, model
            torch.cuda.empty_cache()
    print("complete", flush=True)


def rows_of(out: Path) -> list[dict[str, Any]]:
    file = out / "times.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def table(out: Path) -> None:
    """Of each problem the best configs, the first one, and the other implementations."""
    for name, group in itertools.groupby(sorted(rows_of(out), key=lambda row: row["problem"]), lambda row: row["problem"]):
        rows = [row for row in group if "us" in row and row["error"] <= FLAWED]
        ours = sorted((row for row in rows if row["way"] == "structure"), key=lambda row: row["us"])
        print(name)
        for row in [*ours[:3], *sorted((row for row in rows if row["way"] != "structure"), key=lambda row: row["us"])]:
            config = " ".join(f"{key}={value}" for key, value in row["config"].items())
            print(f"  {row['way']:<13}{row['us']:>10.2f} µs  {row['share']:6.1%} of the bound  {row['tflop_s']:6.1f} TFLOP/s"
                  f"  {config}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["write", "check", "time", "table"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--structure", default="", help="problems of this structure alone")
    parser.add_argument("--seconds", type=float, default=240.0, help="of `time`: begin nothing after this many")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 1) - 2), help="compiling processes")
    given = parser.parse_args()
    found = [one for one in problems() if given.only in one.name and given.structure in one.structure]
    match given.step:
        case "write":
            write(given.out, found)
        case "check":
            failures = [*compile_all(given.out, found, given.workers)]
            print("\n".join(failures) or f"{sum(len(one.configs) for one in found)} configs compile")
        case "time":
            time_all(given.out, found, given.seconds, given.workers)
        case "table":
            table(given.out)


if __name__ == "__main__":
    sys.exit(main())
