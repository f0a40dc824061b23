"""Files with another entry than `kernel_function` are judged, through the whole path."""

from __future__ import annotations

from pathlib import Path

from evaluated import StartedWorker
from gpu_mode_task import KERNEL, write_task
from kernelwright.model import Candidate, Evaluation, Loading, Status
from kernelwright.problems import find_problem
from output_code import FILE

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
    used.load(str(find_problem(str(problem)).file), Loading(which="derived"))
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


SCALE = """\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(9))

    def forward(self, x):
        return x * x * self.weight


GRADIENTS = True
LIBRARY = "any"
CASES = [dict(name="tiny", n=7, small=True), dict(name="large", n=300)]


def get_inputs(n):
    return [torch.randn(n, 9)]


def get_init_inputs():
    return []
"""

FUNCTION = """\
import torch
import triton
import triton.language as tl


@triton.jit
def forward_rows(x, weight, out, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    here, inside = tl.program_id(0) * width + at, at < width
    value = tl.load(x + here, mask=inside)
    tl.store(out + here, value * value * tl.load(weight + at, mask=inside), mask=inside)


@triton.jit
def backward_rows(grad, x, weight, grad_x, parts, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    here, inside = tl.program_id(0) * width + at, at < width
    value, given = tl.load(x + here, mask=inside), tl.load(grad + here, mask=inside)
    tl.store(grad_x + here, 2 * value * given * tl.load(weight + at, mask=inside), mask=inside)
    tl.store(parts + here, value * value * given, mask=inside)


def launched_forward(x, weight):
    x, out, block = x.contiguous(), torch.empty(x.shape, dtype=x.dtype, device=x.device), 16
    forward_rows[(x.shape[0],)](x, weight, out, x.shape[1], BLOCK=block)
    return out, x, block


class SquareRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        out, x, block = launched_forward(x, weight)
        ctx.save_for_backward(x, weight)
        ctx.block = block
        return out

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad = grad.contiguous()
        grad_x, parts = torch.empty_like(x), torch.empty_like(x)
        backward_rows[(x.shape[0],)](grad, x, weight, grad_x, parts, x.shape[1], BLOCK=ctx.block)
        return grad_x, parts.sum(0)


class Layer(torch.nn.Module):
    def forward(self, x):
        print(SquareRows.__name__)
        return SquareRows.apply(x, self.weight)
"""


def test_an_autograd_function_is_judged_as_a_forward_and_its_backward(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    (tmp_path / "scale.py").write_text(SCALE)
    found = judged(shared_worker, tmp_path / "scale.py", FUNCTION)
    assert found.status is Status.PASSED, found.reason
    wrong = judged(shared_worker, tmp_path / "scale.py", FUNCTION.replace("2 * value * given", "value * given"))
    assert wrong.status is Status.WRONG
    assert "the gradient of x" in wrong.reason
    less = judged(shared_worker, tmp_path / "scale.py", FUNCTION.replace("grad_x, parts.sum(0)", "None, parts.sum(0)"))
    assert (less.status, "backward gives no gradient of x" in less.reason) == (Status.REJECTED, True)


def test_output_code_is_judged_at_the_sizes_that_it_was_compiled_for(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    (tmp_path / "total.py").write_text(SUM.replace("n=4096", "n=70"))
    found = judged(shared_worker, tmp_path / "total.py", FILE)
    assert found.status is Status.PASSED, found.reason
    wrong = judged(shared_worker, tmp_path / "total.py", FILE.replace("tmp0 + tmp1", "tmp0 - tmp1"))
    assert wrong.status is Status.WRONG
