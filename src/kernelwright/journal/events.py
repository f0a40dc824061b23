"""What a journal holds: one record per event, and what follows from a list of them.

Pure data; the files are `store`'s business. The one rule: the events alone say everything about a run, so whatever
is shown or resumed is computed from them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from datetime import datetime

from kernelwright.model import Answered, Budget, Evaluation, Profile, Proposal, Record, Request, Trial, Usage


class EventKind(str, enum.Enum):
    """STARTED and STOPPED frame a session of the run: one `optimize`, or one resumption of it."""

    STARTED = "started"
    ASKED = "asked"
    PROPOSED = "proposed"
    EVALUATED = "evaluated"
    TOLD = "told"
    CONFIRMED = "confirmed"
    PROFILED = "profiled"
    """Before the first request that starts from a trial is put into words, or when the trial stands at the end."""
    ANSWERED = "answered"
    """A provider's answer, before the proposal that it is for."""
    ABANDONED = "abandoned"
    """A proposal was under way when its session ended: it may have been paid for, and is asked for again."""
    STOPPED = "stopped"


SESSION_KINDS = frozenset({EventKind.STARTED, EventKind.STOPPED, EventKind.ANSWERED, EventKind.ABANDONED})
"""Events without a number: the ends of a session, and those of which one trial may have several."""


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


@dataclass(frozen=True)
class Event:
    """number: of the trial; None for the ends of a session and for ANSWERED and ABANDONED, of which one trial may
    have several. time: UTC, ISO 8601. TOLD has no payload."""

    seq: int
    kind: EventKind
    number: int | None
    time: str
    payload: Request | Proposal | Evaluation | Profiles | Answered | Abandoned | SessionStart | SessionEnd | None


@dataclass(frozen=True)
class Session:
    """reason is None where no end was recorded: killed, or still at work; seconds then reach to its last event."""

    started: str
    budget: Budget
    seconds: float
    reason: str | None


def profiles_of(events: list[Event]) -> dict[int, tuple[Profile, ...]]:
    """By trial number, those that have some."""
    return {
        event.number: event.payload.profiles
        for event in events
        if event.number is not None and isinstance(event.payload, Profiles) and event.payload.profiles
    }


def finished_trials(events: list[Event]) -> list[Trial]:
    """The trials that these events complete (evaluated, or without a candidate to evaluate), by number."""
    requests = {event.number: event.payload for event in events if isinstance(event.payload, Request)}
    evaluations = {event.number: event.payload for event in events if event.kind is EventKind.EVALUATED}
    finished = []
    for event in events:
        if isinstance(event.payload, Proposal):
            evaluation = evaluations.get(event.number)
            if isinstance(evaluation, Evaluation):
                finished.append(Trial(request=requests[event.number], proposal=event.payload, evaluation=evaluation))
            elif event.payload.candidate is None:
                finished.append(Trial(request=requests[event.number], proposal=event.payload))
    return sorted(finished, key=lambda trial: trial.number)


def paid_beside(events: list[Event]) -> list[Usage]:
    """What was paid for and is in no finished trial: proposals that are not evaluated yet, answers that have no
    proposal yet, and answers that were abandoned."""
    proposals = {event.number: event.payload for event in events if isinstance(event.payload, Proposal)}
    finished = {trial.number for trial in finished_trials(events)}
    found = [one.usage for number, one in proposals.items() if number not in finished]
    for event in events:
        if isinstance(event.payload, Abandoned) or (
            isinstance(event.payload, Answered) and event.payload.trial not in proposals
        ):
            found.append(event.payload.usage)
    return found


def confirmations_of(events: list[Event]) -> dict[int, Evaluation]:
    """Confirming evaluations by trial number, in the order in which they were made."""
    return {
        event.number: event.payload
        for event in events
        if event.kind is EventKind.CONFIRMED and event.number is not None and isinstance(event.payload, Evaluation)
    }


def finished_s(events: list[Event]) -> dict[int, float]:
    """For each finished trial, how long the run had been at work by then; what lies between sessions is left out."""
    found: dict[int, float] = {}
    at_work_s, last = 0.0, None
    for event in events:
        if last is not None and event.kind is not EventKind.STARTED:
            at_work_s += _gap_s(last, event.time)
        last = event.time
        failed = isinstance(event.payload, Proposal) and event.payload.candidate is None
        if event.number is not None and (event.kind is EventKind.EVALUATED or failed):
            found[event.number] = at_work_s
    return found


LONGEST_GAP_S = 3600.0
"""Between two events of a session. A reply may take 1800 s, an evaluation not much longer: beyond that the clock was
set."""


def _gap_s(earlier: str, later: str) -> float:
    """Seconds at work between two events, whatever was done to the clock between them."""
    gap_s = (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    return min(max(gap_s, 0.0), LONGEST_GAP_S)


def sessions_of(events: list[Event]) -> list[Session]:
    """The sessions that these events frame, in order."""
    sessions: list[Session] = []
    last = ""
    for event in events:
        if isinstance(event.payload, SessionStart):
            sessions.append(Session(started=event.time, budget=event.payload.budget, seconds=0.0, reason=None))
        elif isinstance(event.payload, SessionEnd) and sessions:
            sessions[-1] = replace(sessions[-1], seconds=event.payload.seconds, reason=event.payload.reason)
        elif sessions:
            sessions[-1] = replace(sessions[-1], seconds=sessions[-1].seconds + _gap_s(last, event.time))
        last = event.time
    return sessions
