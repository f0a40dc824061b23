"""A kernel that the interpreter and the compiler take otherwise in one of its cases is not verified by the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate, Status

PROBLEM = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2


CASES = [dict(name="a", dtype="float32", size=64, small=True), dict(name="b", dtype="float32", size=65, small=True),
         dict(name="timed", dtype="float32", size=4096)]


def get_inputs(size):
    return [torch.randn(size)]


def get_init_inputs():
    return []
"""

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def twice(x_ptr, out_ptr, n, ODD: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = 2.0
    if ODD:
        {odd}
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    twice[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), ODD=x.numel() % 2 == 1, BLOCK=64)
    return out
"""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, shared_worker: StartedWorker) -> ProcessWorker:
    problem: Path = tmp_path_factory.mktemp("twice") / "problem.py"
    problem.write_text(PROBLEM)
    started = shared_worker()
    started.load(str(problem))
    return started


def test_both_cases_of_an_honest_kernel_pass(worker: ProcessWorker) -> None:
    evaluation = worker.evaluate(Candidate(source=KERNEL.format(odd="factor = 1.0 + 1.0")), "verify")
    assert evaluation.status is Status.PASSED, evaluation.reason


def compiled_otherwise() -> str:
    lines = ("for c in tl.static_range(1):", "    factor = 0.0", "if n > 0:", "    for c in tl.static_range(2):",
             "        factor = 0.0", "factor = 1.0 + c")  # fmt: skip
    return KERNEL.format(odd="\n        ".join(lines))  # compiled, c is what it was before the branch


def test_a_case_that_was_compiled_otherwise_is_not_made_good_by_another(worker: ProcessWorker) -> None:
    evaluation = worker.evaluate(Candidate(source=compiled_otherwise()), "verify")
    if worker.environment().device is not None:
        assert evaluation.status is Status.WRONG
    else:
        assert evaluation.status is Status.NOT_VERIFIED, evaluation.reason
        assert "when compiled" in evaluation.reason


def test_a_bench_goes_on_with_the_others(worker: ProcessWorker) -> None:
    candidates = {"odd": Candidate(source=compiled_otherwise()),
                  "honest": Candidate(source=KERNEL.format(odd="factor = 1.0 + 1.0"))}  # fmt: skip
    (case,) = worker.bench(candidates, ("b",), compile=False).cases
    found = {row.name: row for row in case.implementations}
    assert found["honest"].status is Status.PASSED
    assert found["odd"].status in (Status.WRONG, Status.NOT_VERIFIED)
    assert found["odd"].reason
