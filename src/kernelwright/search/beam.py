"""Beam search: each round improves the few best kernels that are really different, and repairs what fails.

The default. It does not choose configs or write code. The one rule: a round begins when every request of the round
before is told; within a round no request waits for another, except a repair for what it repairs.
"""

from __future__ import annotations

from collections import deque
from typing import Annotated

from msgspec import Meta

from kernelwright.model import Candidate, Operator, Record, Request, Scalar, Trial
from kernelwright.search.options import read_options
from kernelwright.search.protocol import Strategy
from kernelwright.search.ranking import distinct, is_repairable, ranked
from kernelwright.search.staleness import PATIENCE, Staleness


class BeamOptions(Record, frozen=True, kw_only=True):
    width: Annotated[int, Meta(ge=1)] = 4
    """Parents kept, distinct by compiled code: else a beam collapses onto one kernel, as KernelAgent's did in half
    of its rounds. Four is what its published runs use."""
    expand: Annotated[int, Meta(ge=1)] = 1
    """Children per parent. While there are fewer parents than `width` they share all width * expand children."""
    repairs: Annotated[int, Meta(ge=0)] = 2
    """Attempts to mend a child that fails. Three of KernelAgent's five winners came out of a repair."""
    seeds: Annotated[int, Meta(ge=1)] = 3
    """Seeds to ask for, the starter included, until one passes."""
    rounds: Annotated[int, Meta(ge=1)] | None = None
    """Rounds after the seed; None: until the budget is spent."""
    patience: Annotated[int, Meta(ge=1)] = PATIENCE
    """No further round after so many trials in a row without a new candidate."""


def beam(starter: Candidate | None, seed: int, **options: Scalar) -> Strategy:
    """Options: `BeamOptions`. seed: not used, as nothing here is left to chance."""
    return Beam(starter, read_options("beam", options, BeamOptions))


class Beam:
    def __init__(self, starter: Candidate | None, options: BeamOptions) -> None:
        self._options = options
        self._queue: deque[Request] = deque()
        self._numbers = 0
        self._in_flight: set[int] = set()
        self._trials: list[Trial] = []
        self._staleness = Staleness()
        self._repairs_before: dict[int, int] = {}
        self._seeds = 0
        self._round = 0
        self._request_seed(starter)

    def ask(self) -> Request | None:
        if not self._queue and not self._in_flight:
            self._begin_round()
        if not self._queue:
            return None
        request = self._queue.popleft()
        self._in_flight.add(request.number)
        return request

    def tell(self, trial: Trial) -> None:
        self._in_flight.remove(trial.number)
        self._trials.append(trial)
        self._staleness.tell(trial)
        repairs = self._repairs_before.get(trial.number, 0)
        if is_repairable(trial) and repairs < self._options.repairs:
            request = trial.request
            origin = request.parents[1:] if request.operator is Operator.REPAIR else request.parents[:1]
            self._repairs_before[self._enqueue(Operator.REPAIR, (trial.number, *origin))] = repairs + 1

    def _begin_round(self) -> None:
        """Queue nothing where the search has ended."""
        parents = distinct(ranked(self._trials))[: self._options.width]
        if not parents:
            if self._seeds < self._options.seeds:
                self._request_seed(None)
        elif self._round != self._options.rounds and self._staleness.count < self._options.patience:
            self._round += 1
            for child in range(self._options.width * self._options.expand):
                self._enqueue(Operator.IMPROVE, (parents[child % len(parents)].number,))

    def _request_seed(self, candidate: Candidate | None) -> None:
        self._seeds += 1
        self._enqueue(Operator.SEED, (), candidate)

    def _enqueue(self, operator: Operator, parents: tuple[int, ...], candidate: Candidate | None = None) -> int:
        """Requests leave the queue in the order in which they are numbered here."""
        number, self._numbers = self._numbers, self._numbers + 1
        self._queue.append(
            Request(number=number, operator=operator, round=self._round, parents=parents, candidate=candidate)
        )
        return number
