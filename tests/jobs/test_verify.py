"""Verifying a candidate, called from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import PROBLEM
from fakes import ENVIRONMENT, FakeWorker
from kernelwright.errors import ProblemError
from kernelwright.jobs.verify import verify
from kernelwright.model import Candidate, Status
from started import starting

KERNEL = Candidate(source="BLOCK = 512\n")
WRONG = Candidate(source="BLOCK = 512\n# fails: wrong\n")


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    (tmp_path / "double.py").write_text(PROBLEM)
    return tmp_path / "double.py"


def test_the_evaluation_comes_with_the_problem_and_where_it_was_made(
    problem: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = FakeWorker()
    found = verify(problem, KERNEL, start_worker=starting(worker), notify=pytest.fail, dtype="float16")
    assert (found.evaluation.status, found.problem.name, found.candidate) == (Status.PASSED, "double", KERNEL)
    assert found.environment == ENVIRONMENT
    assert worker.calls == [(KERNEL.id, "verify")]
    assert (worker.dtypes, worker.closed) == (["float16"], True)
    assert capsys.readouterr() == ("", "")


def test_a_candidate_that_is_wrong_is_an_evaluation_and_no_exception(problem: Path) -> None:
    found = verify(problem, WRONG, start_worker=starting(), notify=pytest.fail)
    assert found.evaluation.status is Status.WRONG


def test_a_problem_that_is_none_costs_no_worker(problem: Path) -> None:
    problem.write_text("x = 1\n")
    with pytest.raises(ProblemError, match="does not define Model"):
        verify(problem, KERNEL, start_worker=pytest.fail, notify=pytest.fail)
