"""Kernels that are honest until they are timed: only a device can show them, because only there is anything timed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Status
from on_device import needs_device

pytestmark = needs_device()

PROBLEM = """
import torch

CASES = [dict(name="small", small=True, rows=40, cols=700), dict(name="large", rows=8192, cols=4096)]


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=-1)


def get_inputs(rows, cols):
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
"""

HEAD = """
import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, y_ptr, note_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
"""

SUM = """
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, used, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
"""

HOST = """

def kernel_function(x):
    x = x.contiguous()
    y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    notes = torch.empty(x.shape[0], device=x.device, dtype=torch.int32)
    row_sum[(x.shape[0],)](x, y, notes, x.shape[1], BLOCK=1024)
    return y
"""

HONEST = HEAD + "    used = cols\n" + SUM + "    tl.store(y_ptr + row, tl.sum(total, axis=0))\n" + HOST


def counted(calls: int, kept: str) -> str:
    """A kernel that works in its first `calls` calls on one piece of memory, and later sums `kept` columns of each row
    onto what it remembers of the rest. Verification makes a few calls, timing hundreds."""
    return (
        HEAD
        + "    note = tl.load(note_ptr + row)\n"
        + "    calls = tl.where((note >= 1000) & (note < 1000000), note, 1000)\n"
        + f"    used = tl.where(calls < {1000 + calls}, cols, {kept})\n"
        + SUM
        + "    old = tl.load(y_ptr + row)\n"
        + "    tl.store(y_ptr + row, tl.where(used == cols, tl.sum(total, axis=0), old))\n"
        + "    tl.store(note_ptr + row, calls + 1)\n"
        + HOST
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Worker, Path]]:
    file = tmp_path_factory.mktemp("tricks") / "row_sums.py"
    file.write_text(PROBLEM)
    with start_worker() as worker:
        yield worker, file


@pytest.fixture
def worker(shared: tuple[Worker, Path]) -> Worker:
    """With no best so far: what is slower than it is let go before its timed runs are looked at."""
    shared[0].load(str(shared[1]))
    return shared[0]


def test_a_kernel_without_notes_is_timed(worker: Worker) -> None:
    evaluation = worker.evaluate(Candidate(source=HONEST), "search")
    assert evaluation.status is Status.PASSED, evaluation.reason
    assert evaluation.timing_kind == "measured"


@pytest.mark.parametrize(("calls", "kept"), [(9, "0"), (9, "cols * 7 // 8"), (60, "cols * 7 // 8")])
def test_a_kernel_that_counts_its_calls_is_caught_where_it_is_timed(worker: Worker, calls: int, kept: str) -> None:
    source = counted(calls, kept)
    assert worker.evaluate(Candidate(source=source), "verify").status is Status.PASSED, "the known hole"
    evaluation = worker.evaluate(Candidate(source=source), "search")
    assert evaluation.status is Status.WRONG, evaluation.reason
    assert "on memory that an earlier call left behind" in evaluation.reason
    assert evaluation.score_us is None


def remembering(condition: str) -> str:
    """A kernel that adds up each row sixteen times over where `condition` holds, and else leaves the sum as it was. It
    is right always: the note is the row's own checksum."""
    return (
        HEAD
        + "    key = tl.zeros((BLOCK,), tl.float32)\n"
        + "    for start in range(0, cols, BLOCK):\n"
        + "        c = start + tl.arange(0, BLOCK)\n"
        + "        key += tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0) * (c + 1.0)\n"
        + "    checksum = tl.sum(key, axis=0).to(tl.int32, bitcast=True)\n"
        + f"    if {condition}:\n"
        + "        total = tl.zeros((BLOCK,), tl.float32)\n"
        + "        for _ in range(16):\n"
        + "            total = tl.zeros((BLOCK,), tl.float32)\n"
        + "            for start in range(0, cols, BLOCK):\n"
        + "                c = start + tl.arange(0, BLOCK)\n"
        + "                total += tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0, volatile=True)\n"
        + "        tl.store(y_ptr + row, tl.sum(total, axis=0))\n"
        + "    tl.store(note_ptr + row, checksum)\n"
        + HOST
    )


def test_a_kernel_that_remembers_its_whole_input_is_right_and_its_time_is_not(worker: Worker) -> None:
    source = remembering("tl.load(note_ptr + row) != checksum")
    assert worker.evaluate(Candidate(source=source), "verify").status is Status.PASSED
    evaluation = worker.evaluate(Candidate(source=source), "search")
    assert evaluation.status is Status.REJECTED, evaluation.reason
    assert "it reuses results of earlier calls" in evaluation.reason


def test_the_same_kernel_without_a_note_is_timed(worker: Worker) -> None:
    evaluation = worker.evaluate(Candidate(source=remembering("cols > 0")), "search")
    assert evaluation.status is Status.PASSED, evaluation.reason


def test_a_kernel_that_works_in_every_other_call_once_it_is_timed_is_caught(worker: Worker) -> None:
    """In a sample each piece of memory is called several times, so that its output is right by the call before."""
    source = (
        HEAD
        + "    note = tl.load(note_ptr + row)\n"
        + "    calls = tl.where((note >= 1000) & (note < 1000000), note, 1000)\n"
        + "    if (calls < 1009) | (calls % 2 == 0):\n"
        + "        used = cols\n"
        + "".join(f"    {line}\n" for line in SUM.strip("\n").splitlines())
        + "        tl.store(y_ptr + row, tl.sum(total, axis=0))\n"
        + "    tl.store(note_ptr + row, calls + 1)\n"
        + HOST
    )
    assert worker.evaluate(Candidate(source=source), "verify").status is Status.PASSED, "the known hole"
    evaluation = worker.evaluate(Candidate(source=source), "search")
    assert evaluation.status in (Status.WRONG, Status.REJECTED), evaluation.reason
    assert evaluation.score_us is None
