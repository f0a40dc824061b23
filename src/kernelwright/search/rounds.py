"""A search in rounds: the frame of beam, greedy and evolve, which differ only in what they plan for a round.

It chooses no parents and no operators (a `Plan` does). A round begins when every request of the rounds
before is reported, or all but `ahead`; within a round no request waits for another, except a repair or a tuning for
what it is made from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from kernelwright.model import Candidate, Operator, Record, Request, Trial
from kernelwright.search.judging import Judging
from kernelwright.search.portfolio import Portfolio
from kernelwright.search.protocol import MOST_AT_ONCE, Step
from kernelwright.search.staleness import PATIENCE, Staleness


class RoundsOptions(Record, frozen=True, kw_only=True):
    operators: Literal["improve", "portfolio"] = "improve"
    """improve: every child is an improvement, and every failure is repaired. portfolio: the operator of each child, and
    whether a failure is worth a repair, follows from what the operators have gained in this run (`portfolio`)."""
    tuning: Annotated[int, Meta(ge=0)] = 0
    """Tunings that each new structure gets before it is judged, and at least as many as its parents had."""
    repairs: Annotated[int, Meta(ge=0, le=2)] = 2
    """Attempts to repair a child that fails. Three of KernelAgent's five winners came out of a repair."""
    seeds: Annotated[int, Meta(ge=1)] = 3
    """Seeds to ask for, the starter included and known kernels not, until one passes."""
    ahead: Annotated[int, Meta(ge=0, le=MOST_AT_ONCE)] = 0
    """How many requests may still be open when the next round begins. 0: a round knows all of the rounds before, and a
    GPU waits for the last one of each."""
    rounds: Annotated[int, Meta(ge=1)] | None = None
    """Rounds after the seed; None: until the budget is spent."""
    patience: Annotated[int, Meta(ge=1)] = PATIENCE
    """No further round after this many trials in a row without a new candidate."""


Plan = Callable[["Rounds"], list[Step]]
"""What to ask for in the round that begins; called when at least one kernel has passed. The steps are numbered in
their order, from `Rounds.next_number` on."""


class Rounds:
    """portfolio and judging are for the plan to read; it says nothing to them."""

    def __init__(
        self, starter: Candidate | None, known: Sequence[Candidate], options: RoundsOptions, plan: Plan
    ) -> None:
        self.options = options
        self.portfolio = Portfolio()
        self.judging = Judging(
            self.portfolio, options.repairs, options.tuning, selective=options.operators == "portfolio"
        )
        self.round = 0
        self.next_number = 0
        self._plan = plan
        self._queue: deque[Request] = deque()
        self._in_flight: set[int] = set()
        self._staleness = Staleness()
        self._seeds = 0
        self._origins: dict[int, int] = {}
        self._request_seed(starter)
        self._known = range(self.next_number, self.next_number + len(known))
        for candidate in known:
            self._enqueue(Step(Operator.SEED, ()), candidate)

    def ask(self) -> Request | None:
        most_open = self.options.ahead if self.judging.best_first() else 0
        if not self._queue and len(self._in_flight) <= most_open:
            self._begin_round()
        if not self._queue:
            return None
        request = self._queue.popleft()
        self._in_flight.add(request.number)
        return request

    def tell(self, trial: Trial) -> None:
        self._in_flight.remove(trial.number)
        self._staleness.tell(trial)
        step = self.judging.tell(trial)
        if step is None or (step.operator is Operator.REPAIR and trial.number in self._known):
            return  # a known kernel that is not right here is left
        if step.operator is Operator.REPAIR:
            self.judging.repair_asked(trial.number, self.next_number)
            self.portfolio.asked(step.operator)
        self._origins[self.next_number] = self.origin(trial.number)
        self._enqueue(step)

    def origin(self, number: int) -> int:
        """The planned request (or seed) that a repair or a tuning follows from; of a planned one itself."""
        return self._origins.get(number, number)

    def choose(self, parent: Trial, partner: Trial | None) -> Step:
        """How to go on from `parent`, with `partner` to merge it with where there is one; counted as asked for."""
        operator = Operator.IMPROVE
        if self.options.operators == "portfolio":
            available = [Operator.IMPROVE]
            if parent.request.round > 0:
                available.append(Operator.REWRITE_SIMPLY)
            if partner is not None:
                available.append(Operator.MERGE)
            if self.judging.can_tune(parent):
                available.append(Operator.TUNE)
            operator = self.portfolio.choose(available)
        return self.step(operator, parent, partner)

    def step(self, operator: Operator, parent: Trial, partner: Trial | None) -> Step:
        """A request of the round that is planned, counted as asked for."""
        self.portfolio.asked(operator)
        merged = (partner.number,) if operator is Operator.MERGE and partner is not None else ()
        return Step(operator, (parent.number, *merged))

    def _begin_round(self) -> None:
        """Queue nothing where the search has ended."""
        if not self.judging.best_first():
            if self._seeds < self.options.seeds:
                self._request_seed(None)
        elif self.round != self.options.rounds and self._staleness.count < self.options.patience:
            self.round += 1
            for step in self._plan(self):
                self._enqueue(step)

    def _request_seed(self, candidate: Candidate | None) -> None:
        self._seeds += 1
        self._enqueue(Step(Operator.SEED, ()), candidate)

    def _enqueue(self, step: Step, candidate: Candidate | None = None) -> None:
        """Requests leave the queue in the order in which they are numbered here."""
        number, self.next_number = self.next_number, self.next_number + 1
        self._queue.append(
            Request(number=number, operator=step.operator, round=self.round, parents=step.parents, candidate=candidate)
        )
