"""A kernel that compiles for one case and not for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.evaluator.client import start_worker
from kernelwright.model import Candidate, Status

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2


CASES = [dict(name="short", n=64), dict(name="long", n=128, small=True)]


def get_inputs(n=64):
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, LENGTH: tl.constexpr):
    tl.static_assert(LENGTH < 100)
    at = tl.arange(0, LENGTH)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2)


def kernel_function(x):
    out = torch.empty_like(x)
    double_kernel[(1,)](x, out, LENGTH=x.shape[0], num_warps=1)
    return out
"""


@pytest.mark.usefixtures("no_compile_cache")
def test_a_kernel_that_compiles_for_some_cases_only_is_a_compile_error(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(PROBLEM)
    with start_worker() as worker:
        worker.load(str(tmp_path / "double.py"))
        found = worker.evaluate(Candidate(source=KERNEL), "search")
    assert found.status is Status.COMPILE_ERROR
    assert found.compiled is None
    assert len(found.kernels) == 1


TRIED = """
import torch

try:
    import triton
    import triton.language as tl
    HAS_TRITON = True
except ImportError:
    HAS_TRITON = False

if HAS_TRITON:
    @triton.jit
    def double_kernel(x_ptr, out_ptr, mask_ptr, LENGTH: tl.constexpr):
        at = tl.arange(0, LENGTH)
        x = tl.load(x_ptr + at) * 2
        if mask_ptr is not None:
            x += tl.load(mask_ptr + row_indx)
        tl.store(out_ptr + at, x)


def kernel_function(x, mask=None):
    out = torch.empty_like(x)
    double_kernel[(1,)](x, out, mask, LENGTH=x.shape[0], num_warps=1)
    return out
"""


@pytest.mark.parametrize(("mask", "status"), [("mask", Status.PASSED), ("x", Status.REJECTED)])
def test_a_branch_that_no_launch_compiles_is_left_out_also_of_what_ran(
    tmp_path: Path, mask: str, status: Status
) -> None:
    (tmp_path / "double.py").write_text(PROBLEM)
    with start_worker() as worker:
        worker.load(str(tmp_path / "double.py"))
        found = worker.evaluate(Candidate(source=TRIED.replace("(x, out, mask,", f"(x, out, {mask},")), "search")
    assert (found.status, "row_indx" in found.reason) == (status, status is Status.REJECTED), found.reason


ASKING = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, bias_ptr, LENGTH: tl.constexpr):
    at = tl.arange(0, LENGTH)
    times = WITHOUT
    if bias_ptr:
        times = WITH
    tl.store(out_ptr + at, tl.load(x_ptr + at) * times)


def kernel_function(x):
    out = torch.empty_like(x)
    double_kernel[(1,)](x, out, BIAS, LENGTH=x.shape[0])
    return out
"""


@pytest.mark.parametrize(("bias", "without", "status"), [
    ("x", 3.0, Status.PASSED), ("x[:0]", 3.0, Status.WRONG), ("torch.empty(0, device=x.device)", 2.0, Status.PASSED),
])  # fmt: skip
def test_only_memory_without_elements_has_the_address_0_as_in_use(
    tmp_path: Path, bias: str, without: float, status: Status
) -> None:
    (tmp_path / "double.py").write_text(PROBLEM)
    source = ASKING.replace("BIAS", bias).replace("WITHOUT", str(without)).replace("WITH", str(5.0 - without))
    with start_worker() as worker:
        worker.load(str(tmp_path / "double.py"))
        found = worker.evaluate(Candidate(source=source), "search")
    assert found.status is status, found.reason
