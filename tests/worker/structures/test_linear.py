"""Products with few rows as a structure: what it matches, and that its kernels are right, on Triton's interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from evaluated import StartedWorker, gives_the_same
from forked import Programs
from kernelwright.inductor import candidate_texts
from kernelwright.model import Candidate, Status
from kernelwright.worker.structures.linear import find_linear

PROBLEM = """
import torch
import torch.nn as nn
import torch.nn.functional as F

M, N, K, G = {sizes}

class Model(nn.Module):
    def forward(self, x, {names}):
{forward}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, held_out=True, {small}),
         dict(name="odd", small=True, held_out=True, {odd})]
"""

UNPACKED = """
low, high = packed & 15, packed >> 4
q = torch.stack([low, high], -1).reshape(packed.shape[0], -1, G).to(x.dtype)
w = ((q - zeros[:, :, None]) * scales[:, :, None]).reshape(packed.shape[0], -1)
return F.linear(x, w, bias)
"""

HALVES = """
q = torch.cat([packed & 15, packed >> 4], 1).to(torch.int8) - 8
w = q.float().view(q.shape[0], -1, G) * scales.unsqueeze(-1)
return x @ w.flatten(1).t()
"""

WORDS = """
shifts = torch.arange(8, device=words.device, dtype=torch.int32) * 4
q = ((words.unsqueeze(-1) >> shifts) & 15).reshape(words.shape[0], -1).to(x.dtype) - 8
return x @ (q.view(words.shape[0], scales.shape[1], -1) * scales[:, :, None]).view(words.shape[0], -1).t()
"""

FORWARDS = {
    "plain": ("5, 1056, 1024, 1", "w, bias", "torch.randn(M, 1, K), torch.randn(N, K), torch.randn(N)",
              "return F.gelu(F.linear(x, w, bias))", "M=3, N=40, K=72", "M=4, N=33, K=50"),
    "one_row_of_bytes": (
        "1, 1056, 1024, 1", "w, scales",
        "torch.randn(1, K), torch.randint(-128, 128, (N, K), dtype=torch.int8), torch.rand(N)",
        "return F.linear(x, w.to(x.dtype) * scales[:, None])", "N=40, K=72", "N=33, K=50"),
    "nibbles_with_zero_points": (
        "4, 1056, 1024, 128", "packed, scales, zeros, bias",
        "torch.randn(M, K).half(), torch.randint(0, 256, (N, K // 2), dtype=torch.uint8), "
        "torch.rand(N, K // G).half(), torch.randint(0, 16, (N, K // G)).half(), torch.randn(N).half()",
        UNPACKED, "M=3, N=40, K=96, G=32", "M=2, N=33, K=72, G=36"),
    "nibbles_in_halves": (
        "2, 1056, 1024, 64", "packed, scales",
        "torch.randn(M, K), torch.randint(0, 256, (N, K // 2), dtype=torch.uint8), torch.rand(N, K // G)",
        HALVES, "M=3, N=40, K=64, G=16", "M=5, N=33, K=72, G=18"),
    "nibbles_in_words": (
        "1, 1056, 1024, 128", "words, scales",
        "torch.randn(M, K), torch.randint(-2**31, 2**31, (N, K // 8), dtype=torch.int32), torch.rand(N, K // G)",
        WORDS, "N=40, K=96, G=32", "N=33, K=144, G=48"),
    "logits_in_float32": (
        "5, 1056, 1024, 1", "w", "torch.randn(M, K).half(), torch.randn(N, K).half() * K**-0.5",
        "return (x @ w.t()).float()", "M=3, N=40, K=72", "M=4, N=33, K=50"),
    "a_gate_of_two": (
        "2, 1056, 1024, 3", "gate, up", "torch.randn(M, G, K), torch.randn(N, K), torch.randn(N, K)",
        "return F.silu(F.linear(x, gate)) * F.linear(x, up)", "M=3, N=40, K=72, G=2", "M=4, N=33, K=50, G=5"),
    "a_gate_in_one": (
        "4, 1056, 1024, 1", "w", "torch.randn(M, K), torch.randn(2 * N, K)",
        "gate, up = F.linear(x, w).chunk(2, -1)\nreturn F.silu(gate) * up", "M=3, N=40, K=72", "M=2, N=33, K=50"),
}  # fmt: skip
"""Sizes, names, inputs, forward, and two small cases, by name."""


JUDGED = "nibbles_with_zero_points"


@pytest.mark.parametrize("name", FORWARDS)
def test_a_product_with_few_rows_is_right_however_its_weights_are_stored(
    shared_worker: StartedWorker, programs: Programs, tmp_path: Path, name: str
) -> None:
    """Whole, and divided among programs. One is judged, for what a few draws of outputs do not show."""
    sizes, names, inputs, forward, small, odd = FORWARDS[name]
    body = "\n".join(f"        {line}" for line in forward.strip().splitlines())
    text = PROBLEM.format(sizes=sizes, names=names, inputs=inputs, forward=body, small=small, odd=odd)
    (tmp_path / "problem.py").write_text(text)
    shared_worker().load(str(tmp_path / "problem.py"))
    found = shared_worker().generate()
    assert found.captures[0].matched == ("linear",), found.reason
    source = candidate_texts(found, "none")[0]
    assert source.count("@triton.jit") == 2, "a kernel beside those of the structure"
    for config in ({"SPLITS": 1}, {"SPLITS": 4, "BLOCK_N": 16, "BLOCK_K": 16}):
        text = with_config(source, config)
        if name != JUDGED:
            gives_the_same(shared_worker(), programs, tmp_path, text, adversarial=True)
            continue
        result = shared_worker().evaluate(Candidate(source=text), "verify")
        judged = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
        assert judged == dict.fromkeys(("small", "odd"), Status.PASSED), result.reason


def with_config(source: str, config: dict[str, int]) -> str:
    lines = source.splitlines()
    for key, value in config.items():
        lines = [f"LINEAR_{key} = {value}" if line.startswith(f"LINEAR_{key} = ") else line for line in lines]
    return "\n".join(lines) + "\n"


OTHERS = {
    "many rows": (lambda x, w: x.repeat(65, 1) @ w, 0),
    "small weights": (lambda x, w: x[:, :8] @ w[:8], 0),
    "a product that others read is not computed again": (lambda x, w: ((y := x @ w).relu() + 1, y), 1),
    "a norm of the result is none of its steps": (lambda x, w: (y := x @ w) / y.norm(), 1),
    "products of two inputs are two kernels": (lambda x, w: (x @ w) * ((x + 1) @ w), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_many_rows_or_reads_a_product_elsewhere(name: str) -> None:
    function, count = OTHERS[name]
    graph = make_fx(function, tracing_mode="fake")(torch.zeros(4, 512), torch.zeros(512, 1024))
    assert len([*find_linear(graph)]) == count


def test_a_factor_of_a_whole_sum_is_multiplied_once_and_that_of_a_block_with_its_sums() -> None:
    def quantised(x: torch.Tensor, q: torch.Tensor, groups: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        w = (q.float().view(1024, 4, 128) * groups[:, :, None]).view(1024, 512)
        return F.linear(x, w * columns[:, None])

    given = [torch.zeros(4, 512), torch.zeros(1024, 512, dtype=torch.int8), torch.zeros(1024, 4), torch.zeros(1024)]
    (found,) = find_linear(make_fx(quantised, tracing_mode="fake")(*given))
    loop, rest = (
        found.structure.source.split("for block in tl.range")[1].split("if SPLITS == 1")[:1][0].split("\n    value")
    )
    assert "tl.dot(" in loop
    assert " * value" in loop.rpartition("tl.dot(")[2]
    assert "acc_1 = acc_1 * value" in rest
