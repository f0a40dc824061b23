"""Kernels whose fault only a large case shows, on a machine that runs small ones, and their honest twins."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate, Status

PLANES = """
import torch

CASES = [dict(name="small", side=24, small=True), dict(name="timed", side=256)]


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + x


def get_inputs(side):
    return [torch.randn(4, 3, side, side)]


def get_init_inputs():
    return []
"""

PLANE = """
import torch
import triton
import triton.language as tl


@triton.jit
def plane_kernel(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + plane * size + at, mask=at < size, other=0.0)
    tl.store(out_ptr + plane * size + at, tl.maximum(x, 0.0) + x, mask=at < size)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    planes, size = x.shape[0] * x.shape[1], x.shape[2] * x.shape[3]
    BLOCK = min(triton.next_power_of_2(size), 4096)
    plane_kernel[(planes, triton.cdiv(size, BLOCK))](x, out, size, BLOCK=BLOCK)
    return out
"""


@pytest.fixture(scope="module")
def worker(shared_worker: StartedWorker) -> ProcessWorker:
    return shared_worker()


def test_a_kernel_that_stores_a_sixteenth_of_each_large_plane_is_wrong(worker: ProcessWorker, tmp_path: Path) -> None:
    (tmp_path / "planes.py").write_text(PLANES)
    worker.load(str(tmp_path / "planes.py"))
    found = worker.evaluate(Candidate(source=PLANE), "search")
    assert found.status is Status.PASSED, found.reason
    found = worker.evaluate(Candidate(source=PLANE.replace("triton.cdiv(size, BLOCK))]", "1)]")), "search")
    assert found.status is Status.WRONG
    assert "case timed: output 0 has 786,432 elements, and all blocks that the launches store" in found.reason
    assert "49,152" in found.reason


BEHIND_A_CALL = """\
@triton.jit(noinline=True)
def stored(x_ptr, out_ptr, first, size, BLOCK: tl.constexpr):
    at = first + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < size, other=0.0)
    tl.store(out_ptr + at, tl.maximum(x, 0.0) + x, mask=at < size)


@triton.jit
def plane_kernel"""
STORE = "tl.store(out_ptr + plane * size + at, tl.maximum(x, 0.0) + x, mask=at < size)"
CALLED = "stored(x_ptr + plane * size, out_ptr + plane * size, tl.program_id(1) * BLOCK, size, BLOCK)"
ASKED = f"if out_ptr:\n        {STORE}"


@pytest.mark.parametrize("source", [
    PLANE.replace("@triton.jit\ndef plane_kernel", BEHIND_A_CALL).replace(STORE, CALLED), PLANE.replace(STORE, ASKED)
])  # fmt: skip
def test_a_kernel_whose_stores_are_not_known_passes(worker: ProcessWorker, tmp_path: Path, source: str) -> None:
    (tmp_path / "planes.py").write_text(PLANES)
    worker.load(str(tmp_path / "planes.py"))
    found = worker.evaluate(Candidate(source=source), "search")
    assert found.status is Status.PASSED, found.reason


SUMS = """
import torch

CASES = [dict(name="small", rows=5, cols=300, small=True), dict(name="timed", rows=512, cols=5000)]


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=1)


def get_inputs(rows, cols):
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def sums(worker: ProcessWorker, tmp_path: Path) -> ProcessWorker:
    (tmp_path / "sums.py").write_text(SUMS)
    worker.load(str(tmp_path / "sums.py"))
    return worker


SPLIT = """
import torch
import triton
import triton.language as tl


@triton.jit
def part_kernel(x_ptr, part_ptr, cols, splits, BLOCK: tl.constexpr):
    row, split = tl.program_id(0), tl.program_id(1)
    at = split * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0)
    tl.store(part_ptr + row * splits + split, tl.sum(x))


@triton.jit
def join_kernel(part_ptr, out_ptr, splits):
    row = tl.program_id(0)
    total = 0.0
    for split in range(splits):
        total += tl.load(part_ptr + row * splits + split)
    tl.store(out_ptr + row, total)


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    splits = triton.cdiv(cols, 1024)
    parts = torch.empty((rows, splits), dtype=x.dtype, device=x.device)
    out = torch.empty((rows,), dtype=x.dtype, device=x.device)
    part_kernel[(rows, splits)](x, parts, cols, splits, BLOCK=1024)
    join_kernel[(rows,)](parts, out, splits)
    return out
"""
LAST_ONLY = SPLIT.replace("total += tl.load", "total = tl.load")


def test_a_wrong_join_of_splits_is_refused_where_every_small_case_has_one_split(sums: ProcessWorker) -> None:
    found = sums.evaluate(Candidate(source=SPLIT), "verify")
    assert (found.status, found.unjudged) == (Status.PASSED, ()), found.reason
    found = sums.evaluate(Candidate(source=LAST_ONLY), "verify")
    assert found.status is Status.WRONG
    assert found.reason.startswith("case derived_cols_5000: ")


MEAN = """
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0))
    tl.store(out_ptr + row, total)


def kernel_function(x):
    assert x.shape[1] % 5 == 0
    x = x.contiguous()
    out = torch.empty((x.shape[0],), dtype=x.dtype, device=x.device)
    sum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=128)
    return out
"""


@pytest.mark.parametrize("limit", ["cols % 1024", "tl.minimum(cols, 4096)"])
def test_what_a_long_row_alone_shows_is_refused(sums: ProcessWorker, limit: str) -> None:
    """Every loop has several iterations on the small case, too."""
    found = sums.evaluate(Candidate(source=MEAN), "verify")
    assert (found.status, found.unjudged) == (Status.PASSED, ()), found.reason
    found = sums.evaluate(Candidate(source=MEAN.replace("range(0, cols,", f"range(0, {limit},")), "verify")
    assert found.status is Status.WRONG
    assert found.reason.startswith("case derived_cols_5000: ")


def test_a_derived_size_that_the_host_code_refuses_is_named(sums: ProcessWorker) -> None:
    found = sums.evaluate(Candidate(source=MEAN.replace("% 5 == 0", "< 5000 or x.shape[0] > 100")), "verify")
    assert found.status is Status.PASSED
    assert any(one.startswith("case derived_cols_5000, which was derived: ") for one in found.unjudged)


def test_what_no_derived_case_exercises_is_named(sums: ProcessWorker) -> None:
    """Both numbers have to be large at once here."""
    rare = SPLIT.replace("triton.cdiv(cols, 1024)", "triton.cdiv(cols, 1024 if rows > 100 else 8192)")
    found = sums.evaluate(Candidate(source=rare.replace("BLOCK=1024", "BLOCK=1024 if rows > 100 else 8192")), "verify")
    assert found.status is Status.PASSED, found.reason
    many = "(5 on case timed, at most 1 where it was judged)"
    assert found.unjudged == (
        f"never exercised: part_kernel: axis y of the grid, splits {many}",
        f"never exercised: join_kernel: `for split in range(splits):`, splits {many}",
    )


LARGEST = """
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * cols + at, mask=at < cols)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x))


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty((x.shape[0],), dtype=x.dtype, device=x.device)
    sum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""


def test_a_result_that_depends_on_masked_lanes_without_other_is_not_verified(sums: ProcessWorker) -> None:
    found = sums.evaluate(Candidate(source=LARGEST), "search")
    assert found.status is Status.NOT_VERIFIED
    line = "`x = tl.load(x_ptr + tl.program_id(0) * cols + at, mask=at < cols)` in sum_kernel"
    assert found.reason == (
        f"case small: not verified: the result depends on masked lanes of a load without other: {line}"
    )
    twin = LARGEST.replace("tl.sum(x)", "tl.sum(tl.where(at < cols, x, 0.0))")
    assert sums.evaluate(Candidate(source=twin), "search").status is Status.PASSED


AT_ONCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, part_ptr, out_ptr, cols, splits, BLOCK: tl.constexpr):
    row, split = tl.program_id(0), tl.program_id(1)
    at = split * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0)
    tl.store(part_ptr + row * splits + split, tl.sum(x))
    if split == splits - 1:
        total = 0.0
        for one in range(splits):
            total += tl.load(part_ptr + row * splits + one)
        tl.store(out_ptr + row, total)


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    splits = triton.cdiv(cols, 1024)
    parts = torch.empty((rows, splits), dtype=x.dtype, device=x.device)
    out = torch.empty((rows,), dtype=x.dtype, device=x.device)
    sum_kernel[(rows, splits)](x, parts, out, cols, splits, BLOCK=1024)
    return out
"""


def test_programs_that_read_what_others_may_not_have_written_are_not_verified_on_a_derived_case(
    sums: ProcessWorker,
) -> None:
    """Every stated small case has one split. `SPLIT` is the honest twin: the sum of parts is a launch of its own."""
    found = sums.evaluate(Candidate(source=AT_ONCE), "verify")
    assert found.status is Status.NOT_VERIFIED
    assert found.reason.startswith(
        "case derived_cols_5000: not verified: programs of one launch, or lanes of one program, load and store the same"
    )
