"""The list of runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernelwright.journal import Journal, Session
from kernelwright.model import Budget, Operator, Request
from kernelwright.report.runs import RunLine, run_line, runs_text, state_text
from kernelwright.run import pause
from samples import passed, run_view, short_run


def test_a_run_is_one_line_with_its_best_and_where_it_stands() -> None:
    line = run_line(run_view(short_run(), confirmed={4: passed(26.0)}))
    assert line == RunLine(
        run="one",
        problem="softmax",
        created="2026-11-21 10:00",
        search="beam/builtin",
        library="none",
        trials=6,
        best="26.00 µs (estimate)",
        state="verified, not measured; done",
    )


def test_open_requests_and_a_missing_end_are_said() -> None:
    view = run_view(short_run())
    cut_off = Session(started="2026-11-21T10:00:00+00:00", budget=Budget(), seconds=1.0, reason=None)
    waiting = (Request(number=6, operator=Operator.IMPROVE, parents=(4,)),)
    assert state_text(replace(view, sessions=(cut_off,))) == "cut off: resume it"
    assert state_text(replace(view, open_requests=waiting)) == "done; 1 request open"
    assert state_text(replace(view, sessions=())) == "not begun"


def test_a_run_that_is_written_is_at_work_and_one_that_was_asked_to_pause_is_pausing(tmp_path: Path) -> None:
    begun = Session(started="2026-11-21T10:00:00+00:00", budget=Budget(), seconds=1.0, reason=None)
    view = replace(run_view(short_run()), sessions=(begun,), folder=tmp_path)
    with Journal.create(tmp_path, view.info):
        assert state_text(view) == "at work"
        pause(tmp_path)
        assert state_text(view) == "pausing"
    assert state_text(view) == "cut off: resume it"


def test_an_unreadable_run_has_a_row_of_its_own() -> None:
    text = runs_text([RunLine(run="bad", state="unreadable: no head")])
    assert text.splitlines()[1].split() == ["bad", "-", "-", "-", "-", "0", "-", "unreadable:", "no", "head"]
