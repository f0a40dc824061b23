"""Pausing and stopping a run: from outside, while it is at work, and nothing is lost."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from threading import Timer

import pytest

from kernelwright.errors import RunFolderError
from kernelwright.interruption import stoppable
from kernelwright.journal import Event, EventKind, Journal, SessionEnd, fold
from kernelwright.model import Budget
from kernelwright.run import StopReason, at_work, is_paused, pause, resume, stop
from running import Create, run


def search_of(journal: Journal) -> list[tuple[EventKind, int | None]]:
    """What was asked, proposed, evaluated and told; not the sessions that it took."""
    return [(event.kind, event.number) for event in journal.events() if event.number is not None]


def is_pause(event: Event) -> bool:
    return isinstance(event.payload, SessionEnd) and event.payload.reason == "paused"


def test_a_paused_run_finishes_what_is_under_way_asks_nothing_and_goes_on_to_the_same_search(create: Create) -> None:
    whole = create(strategy="greedy")
    run(whole, budget=Budget(trials=6))

    held = create(strategy="greedy")
    at_pause: list[tuple[EventKind, int | None]] = []

    def on_event(event: Event) -> None:
        if event.kind is EventKind.ASKED and event.number == 2:
            pause(held.folder)
        if is_pause(event):
            at_pause.extend(search_of(held))
            Timer(0.3, resume, [held.folder]).start()

    outcome = run(held, budget=Budget(trials=6), on_event=on_event)
    assert outcome.reason is StopReason.TRIALS
    assert at_pause[-1] == (EventKind.TOLD, 2), "what was under way came to its end"
    assert (EventKind.ASKED, 3) not in at_pause
    assert search_of(held) == search_of(whole)
    assert [session.reason for session in held.sessions()] == ["paused", "trials"]


def test_a_pause_is_no_time_of_the_run(create: Create) -> None:
    held = create(strategy="greedy")

    def on_event(event: Event) -> None:
        if event.kind is EventKind.ASKED and event.number == 1:
            pause(held.folder)
        if is_pause(event):
            Timer(0.5, resume, [held.folder]).start()

    run(held, budget=Budget(trials=3), on_event=on_event)
    began, paused, went_on, ended = (
        datetime.fromisoformat(e.time) for e in held.events() if e.kind in (EventKind.STARTED, EventKind.STOPPED)
    )
    at_work_s = (paused - began + ended - went_on).total_seconds()
    rounding_s = 0.1  # of the times in events, and what lies between the clock and the record
    assert sum(session.seconds for session in held.sessions()) <= at_work_s + rounding_s
    assert max(fold(held.events()).finished_s.values()) <= at_work_s + rounding_s
    assert (went_on - paused).total_seconds() > 2 * rounding_s, "or this would show nothing"


def test_a_run_stopped_during_a_pause_is_resumed_unpaused_by_whoever_goes_on(create: Create) -> None:
    held = create(strategy="greedy")

    def on_event(event: Event) -> None:
        if event.kind is EventKind.ASKED and event.number == 2:
            pause(held.folder)
        if is_pause(event):
            Timer(0.2, stop, [held.folder]).start()

    with stoppable():
        outcome = run(held, budget=Budget(trials=6), on_event=on_event)
    assert outcome.reason is StopReason.INTERRUPTED
    assert [session.reason for session in held.sessions()] == ["paused", "interrupted"]
    resume(held.folder)
    assert run(held, budget=Budget(trials=6)).reason is StopReason.TRIALS


def test_a_run_that_is_written_elsewhere_is_not_stopped_from_here(
    create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process id is that of another process here."""
    signalled: list[int] = []
    monkeypatch.setattr("kernelwright.run.control.os.kill", lambda process, signal: signalled.append(process))
    journal = create()
    stop(journal.folder)
    assert signalled == [os.getpid()]
    (journal.folder / "journal.lock").write_text(f"{os.getpid()} another-boot/pid:[1]")
    with pytest.raises(RunFolderError, match="on another host or in another container"):
        stop(journal.folder)
    assert signalled == [os.getpid()]


def test_only_a_run_at_work_can_be_paused_or_stopped(create: Create) -> None:
    journal = create()
    assert at_work(journal.folder) == os.getpid()
    journal.close()
    for act in (pause, stop):
        with pytest.raises(RunFolderError, match=r"no search is at work in .*--resume"):
            act(journal.folder)
    assert not is_paused(journal.folder)
    with pytest.raises(RunFolderError, match="no search is at work"):
        pause(Path("nowhere"))
