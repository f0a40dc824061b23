"""Random search: the control that shows whether selection, or the model, improves on chance.

It neither selects nor repairs. The random choice for request N comes from a generator seeded with (seed, N), so the
order in which trials are reported does not change the choices of other requests.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from kernelwright.model import Candidate, Operator, Record, Request, Scalar, Trial
from kernelwright.options import read_options
from kernelwright.search.protocol import MOST_AT_ONCE, PATIENCE, Staleness, Strategy


class RandomOptions(Record, frozen=True, kw_only=True):
    operator: Literal["improve", "tune"] = "improve"
    """improve: the parent is any passing trial, with equal probability. tune: the parent is always the seed. With the
    built-in proposer and its option sampler=random, tune is plain random sampling of configs."""
    seeds: Annotated[int, Meta(ge=1)] = 3
    """Seeds to ask for until one passes, counting the starter but not the known kernels."""
    ahead: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE)] = 16
    """Maximum number of requests without a result. Random search has no rounds, so without a limit it would send
    prompts without end to a person who answers them by hand. A machine rarely evaluates as many at once."""
    patience: Annotated[int, Meta(ge=1)] = PATIENCE
    """Stop after this many trials in a row without a new candidate."""


def random_search(
    starter: Candidate | None, seed: int, known: Sequence[Candidate] = (), /, **options: Scalar
) -> Strategy:
    """Options: `RandomOptions`."""
    return RandomSearch((starter, *known), seed, read_options("strategy random", options, RandomOptions))


class RandomSearch:
    def __init__(self, first: Sequence[Candidate | None], seed: int, options: RandomOptions) -> None:
        """first: the starter (None: the proposer writes the first kernel) and the known kernels."""
        self._first = first
        self._seed = seed
        self._options = options
        self._asked = 0
        self._told: set[int] = set()
        self._passed: dict[int, Trial] = {}
        self._staleness = Staleness()

    def ask(self) -> Request | None:
        if self._asked < len(self._first):
            return self._request(Operator.SEED, candidate=self._first[self._asked])
        if not self._passed:
            if len(self._told) < self._asked or self._asked - len(self._first) + 1 >= self._options.seeds:
                return None
            return self._request(Operator.SEED)
        if self._staleness.count >= self._options.patience or self._asked - len(self._told) >= self._options.ahead:
            return None
        parents = sorted(self._passed)
        if self._options.operator == "tune":
            return self._request(Operator.TUNE, 1, parents[:1])
        # random() alone gives the same sequence on every Python version.
        parent = parents[int(random.Random(f"{self._seed} {self._asked}").random() * len(parents))]
        return self._request(Operator.IMPROVE, self._passed[parent].request.round + 1, [parent])

    def tell(self, trial: Trial) -> None:
        self._told.add(trial.number)
        self._staleness.tell(trial)
        if trial.score_us is not None:
            self._passed[trial.number] = trial

    def _request(
        self, operator: Operator, round: int = 0, parents: list[int] | None = None, candidate: Candidate | None = None
    ) -> Request:
        number, self._asked = self._asked, self._asked + 1
        return Request(number=number, operator=operator, round=round, parents=tuple(parents or ()), candidate=candidate)
