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
