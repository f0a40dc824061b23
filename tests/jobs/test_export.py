"""Exporting a kernel, called from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import PROBLEM
from fakes import PROBLEM as DOUBLE
from fakes import FakeWorker
from kernelwright.errors import MachineError, RequestError
from kernelwright.jobs.export import export
from kernelwright.jobs.exportable import ExportSource
from kernelwright.model import Evaluation, Status
from started import starting

KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = 64\n"
SOURCE = ExportSource("mine.py", problem=Path("double.py"))


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("double.py").write_text(PROBLEM)
    Path("mine.py").write_text(KERNEL)


def answering(status: Status) -> FakeWorker:
    return FakeWorker(problem=DOUBLE, answer=lambda candidate, purpose: Evaluation(status=status, reason="off by one"))


def test_a_candidate_is_verified_and_written_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    worker = FakeWorker(problem=DOUBLE)
    start = starting(worker)
    found = export(SOURCE, start_worker=start, notify=pytest.fail, format="kernelbench", out=Path("there"))
    assert (found.folder, found.files, found.checked) == (Path("there"), ("double_model_new.py",), None)
    assert KERNEL.strip() in Path("there/double_model_new.py").read_text()
    assert [purpose for _, purpose in worker.calls] == ["verify"]
    assert worker.closed
    assert capfd.readouterr() == ("", "")


def test_a_wrong_candidate_is_a_reason_and_leaves_no_folder() -> None:
    found = export(SOURCE, start_worker=starting(answering(Status.WRONG)), notify=pytest.fail)
    assert (found.folder, found.reason) == (None, "mine.py is wrong: off by one")
    assert not Path("exports").exists()


def test_a_candidate_that_could_not_be_judged_is_the_machine_s_fault() -> None:
    with pytest.raises(MachineError, match=r"mine\.py could not be verified here: off by one"):
        export(SOURCE, start_worker=starting(answering(Status.NOT_VERIFIED)), notify=pytest.fail)


def test_a_folder_that_holds_something_is_not_written_over() -> None:
    Path("there").mkdir()
    Path("there/notes.txt").touch()
    start = starting(FakeWorker(problem=DOUBLE))
    with pytest.raises(RequestError, match="there holds something already"):
        export(SOURCE, start_worker=start, notify=pytest.fail, format="kernelbench", out="there")


def test_a_candidate_s_file_needs_a_problem_and_no_worker_is_started_without() -> None:
    with pytest.raises(RequestError, match=r"mine\.py is no run's folder"):
        export(ExportSource("mine.py"), start_worker=pytest.fail, notify=pytest.fail)
