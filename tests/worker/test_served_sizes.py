"""A kernel that refuses derived sizes, as its host code may: without a GPU it is judged at sizes of the stated case
that it serves."""

from __future__ import annotations

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate, Evaluation, Loading, Status

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, scale):
        return torch.relu(x) * scale

rows = 4096
heads = 12
dim = 128

def get_inputs():
    return [torch.randn(rows, heads, dim), torch.randn(dim)]

def get_init_inputs():
    return []
"""

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def scaled(x_ptr, scale_ptr, out_ptr, DIM: tl.constexpr):
    lanes = tl.arange(0, DIM)
    x = tl.load(x_ptr + tl.program_id(0) * DIM + lanes)
    tl.store(out_ptr + tl.program_id(0) * DIM + lanes, tl.maximum(x, 0.0) * tl.load(scale_ptr + lanes))

def kernel_function(x, scale):
    rows, heads, dim = x.shape
    if CONDITION:
        raise ValueError("sizes")
    x, scale = x.contiguous(), scale.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    scaled[(rows * heads,)](x, scale, out, DIM=dim)
    return out
"""


@pytest.fixture(scope="module")
def worker(shared_worker: StartedWorker, tmp_path_factory: pytest.TempPathFactory) -> ProcessWorker:
    file = tmp_path_factory.mktemp("served") / "scaled.py"
    file.write_text(PROBLEM)
    worker = shared_worker()
    if worker.environment().device is not None:
        pytest.skip("a GPU judges the stated case")
    worker.load(str(file), Loading(which="derived"))
    return worker


def found(worker: ProcessWorker, condition: str, old: str = "", new: str = "") -> Evaluation:
    assert old in KERNEL
    source = KERNEL.replace("CONDITION", condition).replace(old, new)
    return worker.evaluate(Candidate(source=source), "verify")


@pytest.mark.parametrize(
    ("condition", "cases"),
    [
        ("dim != 128", {"derived_small_with_dim", "derived_small_2_with_dim", "derived_odd_with_dim"}),
        ("dim % 16", {"derived_small", "derived_small_2_with_dim", "derived_odd_with_dim"}),
        ("heads % 4 or dim % 16", {"derived_small", "derived_small_2_with_dim_heads", "derived_odd_with_dim_heads"}),
    ],
)
def test_it_is_judged_with_the_stated_numbers_that_it_asks_for(
    worker: ProcessWorker, condition: str, cases: set[str]
) -> None:
    evaluation = found(worker, condition)
    assert evaluation.status is Status.PASSED, evaluation.reason
    assert {one.case for one in evaluation.results if one.status is Status.PASSED} == cases
    assert "sized" in {one.name for one in evaluation.serves}


@pytest.mark.parametrize(("old", "new"), [("tl.maximum(x, 0.0)", "x"), ("rows * heads", "rows * (heads - 1)")])
def test_a_wrong_kernel_is_refused_there(worker: ProcessWorker, old: str, new: str) -> None:
    evaluation = found(worker, "dim != 128", old, new)
    assert evaluation.status is Status.WRONG
    assert "_with_dim" in evaluation.reason or "default" in evaluation.reason


def test_a_kernel_for_the_stated_sizes_alone_is_not_verified(worker: ProcessWorker) -> None:
    evaluation = found(worker, "(rows, heads, dim) != (4096, 12, 128)")
    assert evaluation.status is Status.NOT_VERIFIED
    assert "refuses this size" in "".join(one.reason for one in evaluation.results)
