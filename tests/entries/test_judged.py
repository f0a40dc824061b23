"""Files with another entry than `kernel_function` are judged, through the whole path."""

from __future__ import annotations

from pathlib import Path

from evaluated import StartedWorker
from gpu_mode_task import KERNEL, write_task
from kernelwright.model import Candidate, Evaluation, Status
from kernelwright.problems import find_problem


def judged(worker: StartedWorker, problem: Path, source: str) -> Evaluation:
    used = worker()
    used.load(str(find_problem(str(problem)).file), which="derived")
    return used.evaluate(Candidate(source=source), "verify")


def test_a_submission_is_judged_on_the_task_s_cases(shared_worker: StartedWorker, tmp_path: Path) -> None:
    task = write_task(tmp_path)
    assert (found := judged(shared_worker, task, KERNEL)).status is Status.PASSED, found.reason
    assert "def kernel_function(data):\n    return custom_kernel(data)" in (found.judged_source or "")
