"""What follows from a list of events."""

from __future__ import annotations

from kernelwright.journal import Event, EventKind, SessionEnd, SessionStart, fold
from kernelwright.model import Budget, Operator, Proposal, Request
from samples import passed


def at(seq: int, second: int, kind: EventKind, number: int | None = None, payload: object = None) -> Event:
    time = f"2026-11-21T10:{second // 60:02d}:{second % 60:02d}.000+00:00"
    return Event(seq=seq, kind=kind, number=number, time=time, payload=payload)  # type: ignore[arg-type]


def test_a_trial_is_finished_so_long_after_the_run_began_without_the_time_between_sessions() -> None:
    start, end = SessionStart(budget=Budget()), SessionEnd(reason="interrupted", seconds=20.0)
    events = [
        at(1, 0, EventKind.STARTED, payload=start),
        at(2, 10, EventKind.EVALUATED, 0, passed(40.0)),
        at(3, 20, EventKind.STOPPED, payload=end),
        at(4, 320, EventKind.STARTED, payload=start),
        at(5, 325, EventKind.PROPOSED, 1, Proposal(author="fake", error="no code")),
        at(6, 330, EventKind.EVALUATED, 2, passed(30.0)),
    ]
    assert fold(events).finished_s == {0: 10.0, 1: 25.0, 2: 30.0}


def test_a_killed_session_lasted_until_its_last_event() -> None:
    start = SessionStart(budget=Budget())
    events = [
        at(1, 0, EventKind.STARTED, payload=start),
        at(2, 10, EventKind.ASKED, 0),
        at(3, 320, EventKind.STARTED, payload=start),
        at(4, 325, EventKind.EVALUATED, 0, passed(40.0)),
    ]
    assert fold(events).finished_s == {0: 15.0}


def test_siblings_are_open_requests_to_write_a_kernel_from_the_same_one() -> None:
    def asked(number: int, parents: tuple[int, ...], operator: Operator = Operator.IMPROVE) -> Event:
        return at(
            number + 1, number, EventKind.ASKED, number, Request(number=number, operator=operator, parents=parents)
        )

    events = [asked(1, (0,)), asked(2, (0,)), asked(3, (9,)), asked(4, (0,), Operator.TUNE), asked(5, (0,))]
    failed = at(7, 7, EventKind.PROPOSED, 5, Proposal(author="fake", error="no code"))
    assert fold(events).siblings(1) == 2
    assert fold(events).siblings(3) == 0
    assert fold([*events, failed]).siblings(1) == 1, "a kernel that is written is not being written"
