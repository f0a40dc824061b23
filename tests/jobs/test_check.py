"""Checking a problem, called from Python."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM
from fakes import ENVIRONMENT, FakeWorker
from kernelwright.jobs.check import check
from kernelwright.jobs.worker import Desk
from kernelwright.model import Loading, QualificationReport
from started import starting

POOR = QualificationReport(problem="double", qualifies=False, reason="zeros would pass")


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    (tmp_path / "double.py").write_text(PROBLEM)
    return tmp_path / "double.py"


def test_a_problem_that_does_not_qualify_is_a_record_and_no_exception(
    problem: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = FakeWorker(qualification=POOR)
    found = check(problem, loading=Loading(which="derived", dtype="float16"), desk=Desk(pytest.fail, starting(worker)))
    assert (found.qualification, found.problem.name) == (POOR, "double")
    assert (worker.dtypes, worker.closed) == (["float16"], True)
    assert capsys.readouterr() == ("", "")


def test_eager_pytorch_is_timed_only_where_there_is_a_gpu(problem: Path) -> None:
    assert sorted(check(problem, desk=Desk(pytest.fail, starting())).eager) == ["big", "odd"]
    nowhere = FakeWorker(where=msgspec.structs.replace(ENVIRONMENT, device=None))
    assert check(problem, desk=Desk(pytest.fail, starting(nowhere))).eager == {}
