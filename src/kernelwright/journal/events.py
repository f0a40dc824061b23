"""The events of a journal, and the records in them. `fold` computes the state of a run from the events."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from kernelwright.model import Answered, Budget, Evaluation, LaneChange, Profile, Proposal, Record, Request, Usage


class EventKind(enum.StrEnum):
    """Kinds of events. STARTED and STOPPED enclose a session of the run: one `optimize`, or one resumption of it."""

    STARTED = "started"
    ASKED = "asked"
    PROPOSED = "proposed"
    EVALUATED = "evaluated"
    TOLD = "told"
    CONFIRMED = "confirmed"
    PROFILED = "profiled"
    """A trial was profiled, before the first prompt that starts from it, or when it was confirmed at the end."""
    ANSWERED = "answered"
    """A provider answered; the proposal follows later."""
    ABANDONED = "abandoned"
    """A proposal was running when its session ended: it may have been paid for, and is requested again."""
    JUDGED_AGAIN = "judged_again"
    """A resumed run evaluated a trial again whose compilers had been killed, and told the strategy."""
    LANE = "lane"
    """A lane changed its state; each lane that is up when a session begins has such an event."""
    STOPPED = "stopped"


SESSION_KINDS = frozenset(
    {EventKind.STARTED, EventKind.STOPPED, EventKind.ANSWERED, EventKind.ABANDONED, EventKind.JUDGED_AGAIN,
     EventKind.LANE}
)  # fmt: skip
"""Kinds without a trial number: start and end of a session, lanes, and events that a trial may have several times."""


class SessionStart(Record, frozen=True, kw_only=True):
    """Start of a session. budget: of the whole run, as it was when this session began."""

    budget: Budget


class Profiles(Record, frozen=True, kw_only=True):
    """Profiles of a trial, from a profiler or only the compiler; or the reason why there is none."""

    profiles: tuple[Profile, ...] = ()
    failed: str = ""


class Abandoned(Record, frozen=True, kw_only=True):
    """A proposal without an answer. usage: its assumed cost, that of the run's most expensive answer so far."""

    request: int
    usage: Usage


class JudgedAgain(Record, frozen=True, kw_only=True):
    trial: int
    evaluation: Evaluation


class SessionEnd(Record, frozen=True, kw_only=True):
    reason: str
    seconds: float


Payload: TypeAlias = (
    Request | Proposal | Evaluation | Profiles | Answered | Abandoned | JudgedAgain | LaneChange | SessionStart
    | SessionEnd | None
)  # fmt: skip


@dataclass(frozen=True)
class Event:
    """One event. number: of the trial; None for the kinds in `SESSION_KINDS`. time: UTC, ISO 8601. payload: None for
    TOLD."""

    seq: int
    kind: EventKind
    number: int | None
    time: str
    payload: Payload
