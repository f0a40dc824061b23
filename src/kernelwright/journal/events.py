"""The records of a journal: one for each event. `fold` computes from them how far a run has got."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from kernelwright.model import Answered, Budget, Evaluation, LaneChange, Profile, Proposal, Record, Request, Usage


class EventKind(str, enum.Enum):
    """STARTED and STOPPED frame a session of the run: one `optimize`, or one resumption of it."""

    STARTED = "started"
    ASKED = "asked"
    PROPOSED = "proposed"
    EVALUATED = "evaluated"
    TOLD = "told"
    CONFIRMED = "confirmed"
    PROFILED = "profiled"
    """Before the first request that starts from a trial is put into words, or when it is confirmed at the end."""
    ANSWERED = "answered"
    """A provider's answer, before the proposal that it is for."""
    ABANDONED = "abandoned"
    """A proposal was under way when its session ended: it may have been paid for, and is asked for again."""
    LANE = "lane"
    """Something happened to a lane; those that are up when a session begins come up then."""
    STOPPED = "stopped"


SESSION_KINDS = frozenset(
    {EventKind.STARTED, EventKind.STOPPED, EventKind.ANSWERED, EventKind.ABANDONED, EventKind.LANE}
)
"""Events without a number: the ends of a session, its lanes, and those of which one trial may have several."""


class SessionStart(Record, frozen=True, kw_only=True):
    """The budget is the whole run's, as it stood when this session began."""

    budget: Budget


class Profiles(Record, frozen=True, kw_only=True):
    """What a profiler, or at least the compiler, saw of a trial; or why nothing could be seen."""

    profiles: tuple[Profile, ...] = ()
    failed: str = ""


class Abandoned(Record, frozen=True, kw_only=True):
    """usage: what it is counted as, the dearest answer of the run so far."""

    request: int
    usage: Usage


class SessionEnd(Record, frozen=True, kw_only=True):
    reason: str
    seconds: float


Payload: TypeAlias = (
    Request | Proposal | Evaluation | Profiles | Answered | Abandoned | LaneChange | SessionStart | SessionEnd | None
)


@dataclass(frozen=True)
class Event:
    """number: of the trial; None for the ends of a session, for LANE, and for ANSWERED and ABANDONED, of which one
    trial may have several. time: UTC, ISO 8601. TOLD has no payload."""

    seq: int
    kind: EventKind
    number: int | None
    time: str
    payload: Payload
