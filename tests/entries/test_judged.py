"""Files with another entry than `kernel_function` are judged, through the whole path."""

from __future__ import annotations

from pathlib import Path

from evaluated import StartedWorker
from gpu_mode_task import KERNEL, write_task
from kernelwright.model import Candidate, Evaluation, Status
from kernelwright.problems import find_problem

SUM = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return x + y


CASES = [dict(name="tiny", n=70, small=True), dict(name="large", n=4096)]


def get_inputs(n):
    return [torch.randn(n), torch.randn(n)]


def get_init_inputs():
    return []
"""

SOLVE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, x_step, y_step, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    total = tl.load(x + lanes * x_step, mask=inside) + tl.load(y + lanes * y_step, mask=inside)
    tl.store(out + lanes, total, mask=inside)


def solve(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, N: int):
    add[(triton.cdiv(N, 64),)](a, b, c, N, a.stride(0), b.stride(0), BLOCK=64)
"""


def judged(worker: StartedWorker, problem: Path, source: str) -> Evaluation:
    used = worker()
    used.load(str(find_problem(str(problem)).file), which="derived")
    return used.evaluate(Candidate(source=source), "verify")


def test_a_submission_is_judged_on_the_task_s_cases(shared_worker: StartedWorker, tmp_path: Path) -> None:
    task = write_task(tmp_path)
    assert (found := judged(shared_worker, task, KERNEL)).status is Status.PASSED, found.reason
    assert "def kernel_function(data):\n    return custom_kernel(data)" in (found.judged_source or "")


def test_a_function_that_writes_into_given_outputs_is_judged(shared_worker: StartedWorker, tmp_path: Path) -> None:
    (tmp_path / "total.py").write_text(SUM)
    found = judged(shared_worker, tmp_path / "total.py", SOLVE)
    assert found.status is Status.PASSED, found.reason
    wrong = judged(shared_worker, tmp_path / "total.py", SOLVE.replace("lanes < n", "lanes < n - 1"))
    assert wrong.status is Status.WRONG


def test_a_file_that_the_problem_cannot_call_is_rejected_with_the_cure(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    (tmp_path / "total.py").write_text(SUM)
    found = judged(shared_worker, tmp_path / "total.py", SOLVE.replace("c: torch.Tensor, N", "N"))
    assert found.status is Status.REJECTED
    assert found.reason.startswith("line 14: solve has no argument for output 0 of forward: write kernel_function")
