"""The round-based frame of beam, greedy and evolve, which differ only in how they plan a round.

A `Plan` chooses the parents and operators. A round begins when all requests of earlier rounds are reported, or all but
`ahead`. Within a round, only a repair or a tuning waits for another request: the one it starts from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from kernelwright.model import Candidate, Operator, Record, Request, Trial
from kernelwright.search.judging import Judging
from kernelwright.search.portfolio import Portfolio
from kernelwright.search.protocol import MOST_AT_ONCE, PATIENCE, Staleness, Step


class RoundsOptions(Record, frozen=True, kw_only=True):
    operators: Literal["improve", "portfolio"] = "improve"
    """improve: every child is an improvement, and every failure is repaired. portfolio: the gains of the operators in
    this run decide the operator of each child, and whether a failure is repaired (`portfolio`)."""
    tuning: Annotated[int, Meta(ge=0)] = 0
    """Minimum number of tunings of a new structure before it is judged; it gets at least as many as its parents had."""
    repairs: Annotated[int, Meta(ge=0, le=2)] = 2
    """Maximum number of repairs of a child that fails. Three of KernelAgent's five winners came out of a repair."""
    seeds: Annotated[int, Meta(ge=1)] = 3
    """Seeds to ask for until one passes, counting the starter but not the known kernels."""
    ahead: Annotated[int, Meta(ge=0, le=MOST_AT_ONCE)] = 0
    """Maximum number of requests in flight when the next round begins. 0: a round is planned with all results of the
    rounds before, and a GPU waits for the last trial of each round."""
    rounds: Annotated[int, Meta(ge=1)] | None = None
    """Rounds after the seed; None: until the budget is spent."""
    patience: Annotated[int, Meta(ge=1)] = PATIENCE
    """No further round after this many trials in a row without a new candidate."""


Plan = Callable[["Rounds"], list[Step]]
"""Plans the steps of the round that begins; called when at least one kernel has passed. The steps get consecutive
request numbers, from `Rounds.next_number` on."""


class Rounds:
    """A strategy in rounds. A plan reads `portfolio` and `judging` but does not update them itself."""

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
        self._in_flight.discard(trial.number)
        self._staleness.tell(trial)
        step = self.judging.tell(trial)
        if step is None or (step.operator is Operator.REPAIR and trial.number in self._known):
            return  # a known kernel that fails here is not repaired
        if step.operator is Operator.REPAIR:
            self.judging.repair_asked(trial.number, self.next_number)
            self.portfolio.asked(step.operator)
        self._origins[self.next_number] = self.origin(trial.number)
        self._enqueue(step)

    def origin(self, number: int) -> int:
        """The planned request (or seed) that a repair or a tuning follows from; a planned request is its own origin."""
        return self._origins.get(number, number)

    def choose(self, parent: Trial, partner: Trial | None) -> Step:
        """The next step from `parent`, counted as requested. partner: the kernel to merge it with; None where there is
        none."""
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
        """A step of the round being planned, counted as requested."""
        self.portfolio.asked(operator)
        merged = (partner.number,) if operator is Operator.MERGE and partner is not None else ()
        return Step(operator, (parent.number, *merged))

    def _begin_round(self) -> None:
        """Queues the requests of the next round, or no request where the search has ended."""
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
        """Numbers a request and queues it. Requests leave the queue in the order of their numbers."""
        number, self.next_number = self.next_number, self.next_number + 1
        self._queue.append(
            Request(number=number, operator=step.operator, round=self.round, parents=step.parents, candidate=candidate)
        )
