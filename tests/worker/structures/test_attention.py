"""Attention as a structure: what it matches, and that its kernel is right, on Triton's interpreter."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from evaluated import StartedWorker, gives_the_same
from forked import Programs
from kernelwright.inductor import candidate_texts
from kernelwright.model import Candidate, Generated, Status
from kernelwright.worker.structures.attention import find_attention

PROBLEM = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

B, H, S, T, D = 2, 8, 1024, 1536, 64

class Model(nn.Module):
    def forward(self, {names}):
{forward}

def get_inputs():
    half = torch.float16
    return [{inputs}]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, held_out=True, H=2, S=40, T=36, D=20),
         dict(name="odd", small=True, held_out=True, H=4, S=33, T=50, D=17)]
"""

SAME = "torch.randn(B, H, S, D, dtype=half), " * 3
SHARED = "torch.randn(B, H, S, D, dtype=half), " + "torch.randn(B, 2, S, D, dtype=half), " * 2

WRITTEN = {
    "grouped_and_causal": (
        "q, k, v", SHARED, "return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)"),
    "with_a_bias_and_a_cap": (
        "q, k, v, bias", SAME + "torch.randn(B, 1, S, S, dtype=half)",
        "s = 5.0 * torch.tanh(q @ k.mT / math.sqrt(D) / 5.0) + bias\n"
        "return (s.softmax(-1) @ v).transpose(1, 2).contiguous()"),
    "over_others_by_einsum": (
        "q, k, v", "torch.randn(B, S, H, D), " + "torch.randn(B, T, H, D), " * 2,
        'shares = (torch.einsum("bqhd,bkhd->bhqk", q, k) * D ** -0.5).softmax(-1)\n'
        'return torch.einsum("bhqk,bkhd->bqhd", shares, v)'),
    "added_to_a_bias": (
        "q, k, v, slopes", SAME + "torch.rand(H)",
        "bias = (slopes[:, None, None] * torch.arange(S, device=q.device)).expand(B, H, 1, S).reshape(B * H, 1, S)\n"
        "s = torch.baddbmm(bias.to(q.dtype), q.flatten(0, 1), k.flatten(0, 1).mT, beta=0.5, alpha=0.125)\n"
        "return torch.bmm(s.view(B, H, S, S).softmax(-1).view(B * H, S, S), v.flatten(0, 1))"),
    "in_a_window": (
        "q, k, v", SAME,
        "rows = torch.arange(q.shape[2], device=q.device)\napart = rows[:, None] - rows\n"
        "mask = (apart >= 0) & (apart < 20)\nreturn F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"),
    "few_rows_of_queries": (
        "q, k, v, mask", "torch.randn(B, 8, 1, D, dtype=half), " + "torch.randn(B, 2, T, D, dtype=half), " * 2
        + "torch.rand(B, T) < 0.7",
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None], enable_gqa=True)"),
}  # fmt: skip
"""Names, inputs and forward of a problem, by name."""
JUDGED = "grouped_and_causal"


def generated(worker: StartedWorker, folder: Path, names: str, inputs: str, forward: str) -> Generated:
    body = "\n".join(f"        {line}" for line in forward.splitlines())
    text = PROBLEM.replace("{names}", names).replace("{inputs}", inputs).replace("{forward}", body)
    (folder / "problem.py").write_text(text)
    worker().load(str(folder / "problem.py"))
    return worker().generate()


@pytest.mark.parametrize("name", WRITTEN)
def test_attention_is_one_kernel_however_it_is_written(
    shared_worker: StartedWorker, programs: Programs, tmp_path: Path, name: str
) -> None:
    """One is judged, for what a few draws of outputs do not show."""
    found = generated(shared_worker, tmp_path, *WRITTEN[name])
    assert found.captures[0].matched == ("attention",)
    source = candidate_texts(found, "none")[0]
    assert source.count("\ndef attention_kernel(") == 1
    assert "q.contiguous()" in source, "no copy with another order of sides"
    for wide, narrow in (("BLOCK_M = 128", "BLOCK_M = 16"), ("BLOCK_M = 64", "BLOCK_M = 16"),
                         ("BLOCK_N = 64", "BLOCK_N = 16"), ("BLOCK_N = 32", "BLOCK_N = 16")):  # fmt: skip
        source = source.replace(f"ATTENTION_{wide}", f"ATTENTION_{narrow}")
    if name != JUDGED:
        gives_the_same(shared_worker(), programs, tmp_path, source, adversarial=True)
        return
    result = shared_worker().evaluate(Candidate(source=source), "verify")
    small = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, result.reason


OTHERS = {
    "scores that others read": lambda q, k, v: ((s := q @ k.mT).softmax(-1) @ v, s),
    "a sum over rows": lambda q, k, v: (q @ k.mT).softmax(-1).transpose(2, 3) @ v,
    "a softmax over rows": lambda q, k, v: (q @ k.mT).softmax(-2) @ v,
    "a softmax of something else": lambda q, k, v: q.softmax(-1) @ k.mT @ v,
    "a scale that is computed from scores": lambda q, k, v: ((s := q @ k.mT) / s.amax()).softmax(-1) @ v,
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_needs_the_scores_elsewhere_or_sums_otherwise_is_no_attention(name: str) -> None:
    given = [torch.zeros(2, 4, 16, 16) for _ in range(3)]
    assert not [*find_attention(make_fx(OTHERS[name], tracing_mode="fake")(*given))]


@pytest.mark.parametrize("shape", [(2, 4, 16, 8), (1, 4, 16, 8), (2, 1, 16, 8), (4, 16, 8)])
def test_sides_of_length_one_and_products_of_three_sides_are_matched(shape: tuple[int, ...]) -> None:
    given = [torch.zeros(shape) for _ in range(3)]
    graph = make_fx(lambda q, k, v: (q @ k.mT).softmax(-1) @ v, tracing_mode="fake")(*given)
    (found,) = find_attention(graph)
    shapes = [tuple(one.meta["val"].shape) for one in found.tensors]
    assert [(batch * heads, *rest) for batch, heads, *rest in shapes] == [(math.prod(shape[:-2]), 16, 8)] * 3


def test_many_steps_that_read_each_other_twice_are_looked_at_once() -> None:
    def steps(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.mT
        for _ in range(60):
            scores = scores * 2 - scores
        return scores.softmax(-1) @ v

    given = [torch.zeros(2, 4, 16, 16) for _ in range(3)]
    assert len([*find_attention(make_fx(steps, tracing_mode="fake")(*given))]) == 1
