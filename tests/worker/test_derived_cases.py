"""Files without cases, judged by a real worker on their derived ones: wrong kernels that the file's own inputs do not
show are refused every time, and honest ones pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate, Loading, Status

SOFTMAX = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)

batch_size = 4096
dim = 16384

def get_inputs():
    return [torch.rand(batch_size, dim)]

def get_init_inputs():
    return []
"""

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def softmax(x_ptr, out_ptr, cols, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = lanes < cols
    x = tl.load(x_ptr + tl.program_id(0) * stride + lanes, mask=inside, other=float("-inf"))
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    tl.store(out_ptr + tl.program_id(0) * cols + lanes, e / tl.sum(e, axis=0), mask=inside)

def kernel_function(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax[(x.shape[0],)](x, out, x.shape[1], x.stride(0), BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""

CHANGES = {
    "the maximum is not subtracted": ("    x = x - tl.max(x, axis=0)\n", ""),
    "the tail is left out": ("inside = lanes < cols", "inside = lanes < cols // 16 * 16"),
    "it knows one size": ("x.shape[1], x.stride(0)", "1024, x.stride(0)"),
}


@pytest.fixture(scope="module")
def worker(shared_worker: StartedWorker) -> ProcessWorker:
    return shared_worker()


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("derived") / "softmax.py"
    file.write_text(SOFTMAX)
    return file


def test_an_honest_kernel_passes_on_the_derived_cases(worker: ProcessWorker, problem: Path) -> None:
    info = worker.load(str(problem), Loading(which="derived"))
    assert [one.case.name for one in info.cases] == ["default", "derived_small", "derived_small_2", "derived_odd"]
    assert info.numbers == {"batch_size": 4096, "dim": 16384}
    found = worker.evaluate(Candidate(source=KERNEL), "verify")
    assert found.status is Status.PASSED, found.reason
    judged = {result.case for result in found.results if result.status is Status.PASSED}
    assert {"derived_small", "derived_small_2", "derived_odd"} <= judged


@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_kernel_is_refused_on_a_derived_case_every_time(
    worker: ProcessWorker, problem: Path, change: str
) -> None:
    old, new = CHANGES[change]
    assert KERNEL.count(old) == 1
    for _ in range(3):
        worker.load(str(problem), Loading(which="derived"))
        found = worker.evaluate(Candidate(source=KERNEL.replace(old, new)), "search")
        assert found.status in (Status.WRONG, Status.RUNTIME_ERROR), (found.status, found.reason)
        assert "case derived_" in found.reason


def test_a_kernel_for_dense_inputs_is_known_to_be_one(worker: ProcessWorker, problem: Path) -> None:
    worker.load(str(problem), Loading(which="derived"))
    found = worker.evaluate(Candidate(source=KERNEL.replace("x.stride(0)", "x.shape[1]")), "search")
    assert found.status is Status.PASSED, found.reason
    assert [one.name for one in found.serves] == ["dense"]


def test_with_stated_cases_only_nothing_of_such_a_file_is_verified_without_a_gpu(
    worker: ProcessWorker, problem: Path
) -> None:
    if worker.environment().device is not None:
        pytest.skip("a GPU judges the file's own size")
    worker.load(str(problem), Loading(which="stated"))
    assert worker.evaluate(Candidate(source=KERNEL), "verify").status is Status.NOT_VERIFIED


def test_a_problem_qualifies_or_not_by_its_text(worker: ProcessWorker, problem: Path) -> None:
    reports = []
    for _ in range(3):
        worker.load(str(problem), Loading(which="derived"))
        reports.append(worker.qualify())
    assert reports[0].qualifies is True
    assert reports[0] == reports[1] == reports[2]
