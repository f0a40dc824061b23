"""The state of a run, kept up to date by its events. A run resumes from this state, and every report shows it.

The events alone determine the state. Only this file interprets them one by one, and what a search or its display asks
of the state while it grows does not read the whole run again.
"""

from __future__ import annotations

import bisect
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter

from kernelwright.journal.events import (
    Abandoned,
    Event,
    EventKind,
    JudgedAgain,
    Payload,
    Profiles,
    SessionEnd,
    SessionStart,
)
from kernelwright.journal.lanes import LaneTallies
from kernelwright.journal.spending import Spending
from kernelwright.model import (
    Answered,
    Budget,
    Candidate,
    Evaluation,
    Incumbent,
    LaneChange,
    Operator,
    Profile,
    Proposal,
    Request,
    Status,
    Trial,
    Usage,
    incumbent_of,
    may_lead,
)
from kernelwright.search.ranking import rank

LONGEST_GAP_S = 3600.0
"""Longest time counted between two events of a session. A reply may take 1800 s, an evaluation not much longer; a
longer gap means that the clock was changed."""


@dataclass(frozen=True)
class Session:
    """One session of a run. reason: None if no end was recorded (killed, or still running); seconds then reach to its
    last event."""

    started: str
    budget: Budget
    seconds: float
    reason: str | None


@dataclass
class RunState:
    """The state after the events so far; dicts are by trial number, in the order of the events.

    told: trials whose result the strategy has received; a trial is open from its request until then. done: trials that
    were evaluated or have no candidate to evaluate, and finished_s the work time of the run at that moment; time
    between sessions does not count. profiled: `profiles` without trials that have none. rounds: requested trials by
    round. seed: the first trial with a score, by number. leader: the trial with the lowest score. ends: finished trials
    by status; None: without a candidate. lock: `take` acquires it, and so must a reader in another thread.
    """

    seq: int = 0
    """Of the last event."""
    requests: dict[int, Request] = field(default_factory=dict)
    proposals: dict[int, Proposal] = field(default_factory=dict)
    evaluations: dict[int, Evaluation] = field(default_factory=dict)
    told: dict[int, Trial] = field(default_factory=dict)
    confirmations: dict[int, Evaluation] = field(default_factory=dict)
    profiles: dict[int, Profiles] = field(default_factory=dict)
    answers: dict[int, tuple[Answered, ...]] = field(default_factory=dict)
    abandoned: list[Abandoned] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    done: dict[int, Trial] = field(default_factory=dict)
    finished_s: dict[int, float] = field(default_factory=dict)
    profiled: dict[int, tuple[Profile, ...]] = field(default_factory=dict)
    rounds: dict[int, list[int]] = field(default_factory=dict)
    seed: Trial | None = None
    leader: Trial | None = None
    ends: Counter[Status | None] = field(default_factory=Counter)
    spending: Spending = field(default_factory=Spending)
    lanes: LaneTallies = field(default_factory=LaneTallies)
    at_work_s: float = 0.0
    """Work time of the run so far, from the times of the events."""
    dearest: Usage = field(default_factory=Usage)
    """The maximum cost of a proposal, or of all answers to one request, for each field separately; cost_usd is None if
    no price is known."""
    passed_sources: set[str] = field(default_factory=set)
    """The texts of candidates that passed, whatever their config."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    _open: dict[int, None] = field(default_factory=dict)
    _evaluated: dict[str, int] = field(default_factory=dict)
    """By candidate id, the first trial in which the candidate was judged."""
    _best: tuple[float, int] | None = None
    """The lowest score among trials that may become the incumbent (`may_lead`), and its trial."""
    _in_order: list[Trial] = field(default_factory=list)
    """Told trials by number."""
    _trials: tuple[Trial, ...] | None = None
    """Cache of `trials()`; None if it is out of date."""
    _last_time: str = ""

    def take(self, event: Event) -> None:
        """Add the next event."""
        with self.lock:
            self.seq = event.seq
            self._take_time(event)
            self._take(event.kind, event.number, event.payload)

    def _take(self, kind: EventKind, number: int | None, payload: Payload) -> None:
        if isinstance(payload, Answered):
            self.answers[payload.trial] = (*self.answers.get(payload.trial, ()), payload)
            self._pay(together([answered.usage for answered in self.answers[payload.trial]]))
        elif isinstance(payload, Abandoned):
            self.abandoned.append(payload)
            self._pay(payload.usage)
            self.spending.pay("an abandoned reply", payload.usage)
        elif isinstance(payload, JudgedAgain):
            self._evaluate(payload.trial, payload.evaluation)
            self._tell(payload.trial)
        elif isinstance(payload, LaneChange):
            self.lanes.take(payload, self.at_work_s)
        if number is None:
            return
        if isinstance(payload, Request):
            self.requests[number] = payload
            self.rounds.setdefault(payload.round, []).append(number)
            self._open[number] = None
        elif isinstance(payload, Proposal):
            self._propose(number, payload)
        elif isinstance(payload, Evaluation):
            if kind is EventKind.CONFIRMED:
                self.lanes.note(payload)
                self.confirmations[number] = payload
            else:
                self._evaluate(number, payload)
        elif isinstance(payload, Profiles):
            self.profiles[number] = payload
            if payload.profiles:
                self.profiled[number] = payload.profiles
                self.spending.profile(number, self.evaluations.get(number), payload.profiles)
        elif kind is EventKind.TOLD:
            self._tell(number)

    def _propose(self, number: int, proposal: Proposal) -> None:
        self.proposals[number] = proposal
        self._pay(proposal.usage)
        request = self.requests.get(number)
        if request is not None and request.candidate is None:
            self.spending.pay(proposal.author, proposal.usage)
        if proposal.candidate is None:
            self._finish(number)

    def _evaluate(self, number: int, evaluation: Evaluation) -> None:
        self.lanes.note(evaluation)
        self.evaluations[number] = evaluation
        self.spending.evaluate(number, evaluation)
        candidate = self.candidate(number)
        if candidate is not None and not evaluation.killed:
            self._evaluated.setdefault(candidate.id, number)
        if candidate is not None and evaluation.status is Status.PASSED:
            self.passed_sources.add(candidate.source)
        if evaluation.score_us is not None and may_lead(evaluation):
            self._best = min(self._best or (evaluation.score_us, number), (evaluation.score_us, number))
        self._finish(number)

    def _finish(self, number: int) -> None:
        self.finished_s[number] = self.at_work_s
        if number not in self.requests or number not in self.proposals:
            return  # a journal that was not checked
        before, trial = self.done.get(number), self._trial(number)
        self.done[number] = trial
        if before is not None:
            self.ends -= Counter([_end(before)])
        self.ends[_end(trial)] += 1
        if trial.score_us is not None:
            self.seed = min(self.seed or trial, trial, key=attrgetter("number"))
            self.leader = min(self.leader or trial, trial, key=rank)

    def _tell(self, number: int) -> None:
        is_again = number in self.told
        trial = self.told[number] = self.done.get(number) or self._trial(number)
        place = bisect.bisect_left(self._in_order, number, key=attrgetter("number"))
        self._in_order[place : place + is_again] = [trial]
        self._open.pop(number, None)
        self._trials = None

    def _pay(self, usage: Usage) -> None:
        known_usd = [cost for cost in (self.dearest.cost_usd, usage.cost_usd) if cost is not None]
        self.dearest = Usage(
            input_tokens=max(self.dearest.input_tokens, usage.input_tokens),
            output_tokens=max(self.dearest.output_tokens, usage.output_tokens),
            cost_usd=max(known_usd, default=None),
        )

    def _take_time(self, event: Event) -> None:
        payload, gap_s = event.payload, _gap_s(self._last_time, event.time) if self._last_time else 0.0
        self._last_time = event.time
        if isinstance(payload, SessionStart):
            self.lanes.end_session(self.at_work_s)  # ends a session that was killed
            self.sessions.append(Session(started=event.time, budget=payload.budget, seconds=0.0, reason=None))
            return
        self.at_work_s += gap_s
        if not self.sessions:
            return
        session = self.sessions[-1]
        if isinstance(payload, SessionEnd):
            self.sessions[-1] = replace(session, seconds=payload.seconds, reason=payload.reason)
            self.lanes.end_session(self.at_work_s)
        else:
            self.sessions[-1] = replace(session, seconds=session.seconds + gap_s)

    def _trial(self, number: int) -> Trial:
        return Trial(
            request=self.requests[number], proposal=self.proposals[number], evaluation=self.evaluations.get(number)
        )

    def open_numbers(self) -> list[int]:
        """Requested trials whose result the strategy has not received yet."""
        return list(self._open)

    def open_requests(self) -> list[Request]:
        """Requests that wait for a proposal."""
        return [self.requests[number] for number in self._open if number not in self.proposals]

    def siblings(self, number: int) -> int:
        """Number of other requests that wait for a proposal, except tunings, and have the same first parent."""
        parents = self.requests[number].parents[:1]
        others = [one for one in self.open_requests() if one.number != number]
        return sum(one.parents[:1] == parents and one.operator is not Operator.TUNE for one in others)

    def trials(self) -> tuple[Trial, ...]:
        """Trials whose result the strategy has received, by number."""
        if self._trials is None:
            self._trials = tuple(self._in_order)
        return self._trials

    def finished(self) -> list[Trial]:
        """Trials that were evaluated or have no candidate to evaluate, by number; the strategy may not have received
        the result yet."""
        return [self.done[number] for number in sorted(self.done)]

    def candidate(self, number: int) -> Candidate | None:
        proposal = self.proposals.get(number)
        return proposal.candidate if proposal else None

    def incumbent(self) -> Incumbent | None:
        """The candidate with the lowest score among those that may become the incumbent, the earlier one of equals;
        None if there is none."""
        if self._best is None:
            return None
        _, best = self._best
        candidate = self.candidate(best)
        return None if candidate is None else incumbent_of(candidate, self.evaluations[best])

    def twin(self, number: int) -> int | None:
        """An earlier evaluated trial with the same candidate; None if there is none."""
        candidate = self.candidate(number)
        twin = None if candidate is None else self._evaluated.get(candidate.id)
        return None if twin == number else twin

    def paid_beside(self) -> list[Usage]:
        """Costs outside of finished trials: proposals that are not evaluated yet, answers without a proposal yet, and
        abandoned proposals."""
        under_way = [number for number in self._open if number in self.proposals and number not in self.done]
        return [
            *(self.proposals[number].usage for number in under_way),
            *(one.usage for request in self.open_requests() for one in self.answers.get(request.number, ())),
            *(one.usage for one in self.abandoned),
        ]


def _end(trial: Trial) -> Status | None:
    return None if trial.evaluation is None else trial.evaluation.status


def together(usages: Iterable[Usage]) -> Usage:
    total = Usage()
    for usage in usages:
        total = total.plus(usage)
    return total


def fold(events: Iterable[Event]) -> RunState:
    """The state after these events."""
    state = RunState()
    for event in events:
        state.take(event)
    return state


def _gap_s(earlier: str, later: str) -> float:
    """Work time between two events, limited to 0 to `LONGEST_GAP_S` in case the clock was changed."""
    gap_s = (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    return min(max(gap_s, 0.0), LONGEST_GAP_S)
