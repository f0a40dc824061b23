"""A run killed with SIGKILL after any event resumes to the same search, and pays for nothing twice."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import dying
from dying import info, session
from kernelwright.journal import Event, EventKind, Journal
from kernelwright.model import Proposal, Request, RunInfo, Status

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["dying"])  # a fork of it begins at once, a new interpreter after a second
FRAME = (EventKind.STARTED, EventKind.STOPPED)


def search_of(events: Iterable[Event]) -> list[tuple[EventKind, int | None, Any]]:
    """The search without the sessions it took."""
    return [(event.kind, event.number, event.payload) for event in events if event.kind not in FRAME]


def uninterrupted(head: RunInfo) -> tuple[list[Event], list[str]]:
    with TemporaryDirectory() as folder:
        with Journal.create(Path(folder) / "run", head) as journal:
            session(journal)
            events = journal.events()
        return events, (Path(folder) / "calls.log").read_text().splitlines()


EVENTS, CALLS = uninterrupted(info())


def killed(folder: Path, after: int = 0, in_flight: int = 1, after_commits: int = 0) -> int:
    """The exit status of a process whose session ends at its `after`-th event or its `after_commits`-th commit."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    errors = folder.parent / "errors.log"
    process = FORKED.Process(target=dying.live, args=(folder, after, in_flight, errors, after_commits))
    process.start()
    process.join()
    assert errors.read_text() == ""
    assert process.exitcode is not None
    return process.exitcode


def test_the_uninterrupted_search_takes_every_way_through_the_stages() -> None:
    assert {event.kind for event in EVENTS} == set(EventKind) - {
        EventKind.ABANDONED,
        EventKind.LANE,
        EventKind.JUDGED_AGAIN,
    }
    payloads = [event.payload for event in EVENTS]
    assert {getattr(p, "status", None) for p in payloads} >= {Status.PASSED, Status.COMPILE_ERROR}
    assert any(getattr(p, "error", None) for p in payloads)
    assert {p.operator.value for p in payloads if isinstance(p, Request)} == {"seed", "improve", "repair"}
    assert max(Counter(CALLS).values()) == 1


@pytest.mark.parametrize("kind", EventKind)
def test_a_run_killed_after_any_event_of_a_kind_resumes_to_the_same_search(tmp_path: Path, kind: EventKind) -> None:
    """Every third of a kind; the test below goes through all commits."""
    for event in [event for event in EVENTS if event.kind is kind][::3]:
        folder = tmp_path / str(event.seq)
        assert killed(folder / "run", after=event.seq) == -signal.SIGKILL
        with Journal.open(folder / "run") as dead:
            kept = dead.events()
        assert search_of(kept) == search_of(EVENTS[: len(kept)])
        assert len(kept) <= event.seq
        assert acted_on(folder / "calls.log") <= recorded(kept)
        with Journal.open(folder / "run", writable=True) as journal:
            session(journal)
            assert search_of(journal.events()) == search_of(EVENTS)
            assert [s.reason for s in journal.sessions()] == [
                "finished" if kind is EventKind.STOPPED else None,
                "finished",
            ]
        calls = (folder / "calls.log").read_text().splitlines()
        assert list(dict.fromkeys(calls)) == CALLS
        again = [call for call, count in Counter(calls).items() if count > 1]
        assert len(again) <= 1, "what came back in the pass that was killed"
        assert not any(call.startswith("pay") for call in again)


def acted_on(log: Path) -> set[str]:
    """Requests that were paid for and candidates that were evaluated, in a killed session."""
    calls = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return {words[2] if words[0] == "pay" else words[1] for words in calls if words[0] in ("pay", "search")}


def recorded(events: Iterable[Event]) -> set[str]:
    payloads = [event.payload for event in events]
    asked = {str(one.number) for one in payloads if isinstance(one, Request)}
    return asked | {one.candidate.id for one in payloads if isinstance(one, Proposal) and one.candidate is not None}


def test_a_run_killed_again_and_again_still_gets_there(tmp_path: Path) -> None:
    """Each session lives for one commit beside its own start, and each begins in a copy of the dead one's folder."""
    folder, sessions, known = tmp_path / "run", 0, 0
    while killed(folder, after_commits=2) != 0:
        sessions += 1
        with Journal.open(folder) as dead:
            events = dead.events()
        assert search_of(events) == search_of(EVENTS)[: len(search_of(events))]
        assert len(search_of(events)) > known
        known = len(search_of(events))
        shutil.copytree(folder, tmp_path / "copy")
        shutil.rmtree(folder)
        (tmp_path / "copy").rename(folder)
        if search_of(events) == search_of(EVENTS):
            break
    assert sessions > 10
    with Journal.open(folder, writable=True) as journal:
        session(journal)
        assert search_of(journal.events()) == search_of(EVENTS)
    assert (tmp_path / "calls.log").read_text().splitlines() == CALLS


def test_a_run_killed_with_several_requests_in_flight_resumes_to_the_same_trials(tmp_path: Path) -> None:
    expected = {trial_key(event) for event in uninterrupted(info(in_flight=3))[0]}
    for after in (3, 7, 11, 16, 22):
        folder = tmp_path / str(after)
        assert killed(folder / "run", after, in_flight=3) == -signal.SIGKILL
        with Journal.open(folder / "run", writable=True) as journal:
            outcome = session(journal)
            assert {trial_key(event) for event in journal.events()} == expected
            assert all(count == 1 for count in Counter(trial_key(e) for e in journal.events() if e.number).values())
            assert len(journal.trials()) == len({event.number for event in EVENTS} - {None})
            assert outcome.best is not None


def trial_key(event: Event) -> tuple[EventKind, int | None]:
    return event.kind, event.number
