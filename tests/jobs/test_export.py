"""Exporting a kernel, called from Python."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM
from fakes import PROBLEM as DOUBLE
from fakes import FakeWorker
from kernelwright.jobs.export import export
from kernelwright.jobs.exportable import ExportSource, why_no_package
from kernelwright.jobs.worker import Desk
from kernelwright.journal import Journal
from kernelwright.model import Budget, RunInfo
from kernelwright.report.ending import ending_text
from kernelwright.report.view import read_run
from kernelwright.run import Outcome, StopReason
from samples import passed, run_info, short_run
from started import starting

KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = 64\n"
SOURCE = ExportSource("mine.py", problem=Path("double.py"))


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("double.py").write_text(PROBLEM)
    Path("mine.py").write_text(KERNEL)


def test_what_a_problem_needs_beside_its_file_is_in_the_package() -> None:
    Path("own/sources").mkdir(parents=True)
    Path("own/problem.py").write_text(PROBLEM)
    Path("own/sources/nets.py").write_text("WIDTH = 64\n")
    Path("own/module.pt").write_bytes(b"\x80\x00")
    source = ExportSource("mine.py", problem="own")
    cases = tuple(msgspec.structs.replace(one, input_names=("x",)) for one in DOUBLE.cases)
    worker = FakeWorker(problem=msgspec.structs.replace(DOUBLE, cases=cases))
    found = export(source, format="hf-kernels", desk=Desk(lambda said: None, starting(worker)))
    assert found.folder is not None
    home = found.folder / "build" / "torch-cuda"
    assert (home / "sources" / "nets.py").read_text() == "WIDTH = 64\n"
    assert (home / "module.pt").read_bytes() == b"\x80\x00"


def test_a_trial_that_is_not_the_confirmed_best_is_notified_and_its_verdict_is_the_journal_s() -> None:
    info = run_info(dtype="float16")
    recorded(msgspec.structs.replace(info, problem=msgspec.structs.replace(info.problem, library="finish")))
    worker = FakeWorker(problem=DOUBLE)
    notes: list[str] = []
    found = export(
        ExportSource("one", trial=1), format="config", out="there", desk=Desk(notes.append, starting(worker))
    )
    assert found.files == ("best_config.json",)
    assert notes == ["trial 1 is not the confirmed best of one"]
    assert (worker.calls, worker.dtypes, worker.libraries) == ([], ["float16"], ["finish"])


@pytest.mark.parametrize("returns", ["", "{'double': 0}"])
def test_an_export_is_offered_at_the_end_of_a_run_only_where_it_would_not_be_refused(returns: str) -> None:
    cases = tuple(msgspec.structs.replace(case, returns=returns, input_names=("x",)) for case in DOUBLE.cases)
    info = msgspec.structs.replace(run_info(), problem=msgspec.structs.replace(DOUBLE, cases=cases))
    recorded(info)
    with Journal.open(Path("one")) as journal:
        view = read_run(journal)
    why = why_no_package(view)
    outcome = Outcome(reason=StopReason.TRIALS, detail="6 of 6 trials")
    said = ending_text(view, outcome, Budget(trials=6), why)
    assert ("kernelwright export one" in said) == (not returns)
    assert (f"`export` makes no package of this kernel: {DOUBLE.name}'s forward has tensors in" in said) == bool(
        returns
    )


def recorded(info: RunInfo) -> None:
    """A run's folder `one` whose confirmed best is trial 4."""
    with Journal.create(Path("one"), info) as journal:
        journal.append_started(Budget(trials=6))
        for trial in short_run():
            journal.append_asked(trial.request)
            journal.append_proposed(trial.number, trial.proposal)
            if trial.evaluation is not None:
                journal.append_evaluated(trial.number, trial.evaluation)
            journal.append_told(trial.number)
        journal.append_confirmed(4, passed(26.0))
        journal.append_stopped("trials", 9.0)
    Path("one/problem").mkdir()
    Path("one/problem/softmax.py").write_text(PROBLEM)
