"""Profiling a candidate, called from Python."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM
from fakes import FakeWorker
from kernelwright.jobs.profile import ProfileSettings, profile
from kernelwright.jobs.worker import Desk
from kernelwright.model import BenchReport, Candidate, Status
from kernelwright.report.profiled import Profiled
from started import starting

KERNEL = Candidate(source="BLOCK = 64\n")


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    (tmp_path / "double.py").write_text(PROBLEM)
    return tmp_path / "double.py"


def test_each_profile_is_shown_as_soon_as_it_is_there_and_nothing_is_printed(
    problem: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = FakeWorker()
    seen: list[tuple[Profiled, int]] = []
    found = profile(
        problem,
        KERNEL,
        show=lambda one: seen.append((one, len(worker.calls))),
        name="mine",
        settings=ProfileSettings(("big", "odd"), framework=True),
        desk=Desk(pytest.fail, starting(worker)),
    )
    assert [(one.name, one.case.case.name) for one in found.profiles] == [
        ("mine", "big"),
        ("eager", "big"),
        ("mine", "odd"),
        ("eager", "odd"),
    ]
    assert seen == list(zip(found.profiles, (1, 2, 3, 4), strict=True))
    assert found.failure is None
    assert worker.closed
    assert capsys.readouterr() == ("", "")


class Halting(FakeWorker):
    """Its candidate fails on the second case, and its eager PyTorch on the first."""

    def bench(self, *args: object, **kwargs: object) -> BenchReport:
        report = super().bench(*args, **kwargs)  # type: ignore[arg-type]
        failing = {("odd", "candidate"), ("big", "eager")}
        cases = []
        for case in report.cases:
            rows = tuple(
                msgspec.structs.replace(row, status=Status.WRONG, reason="off by one", median_us=None)
                if (case.case, row.name) in failing
                else row
                for row in case.implementations
            )
            cases.append(msgspec.structs.replace(case, implementations=rows))
        return msgspec.structs.replace(report, cases=tuple(cases))


def test_a_candidate_that_fails_ends_the_profile_with_what_was_found_before(problem: Path) -> None:
    notes: list[str] = []
    cases = ("big", "odd")
    found = profile(
        problem, KERNEL, ProfileSettings(cases, framework=True), desk=Desk(notes.append, starting(Halting()))
    )
    assert [(one.name, one.case.case.name) for one in found.profiles] == [("candidate", "big")]
    assert notes == ["eager failed on big: off by one", "candidate failed on odd: off by one"]
    assert found.failure == notes[-1]
