"""Operator selection by past gains: a deterministic multi-armed bandit (UCB1 with priors).

An operator that was requested n times in this run, s of them with a gain, has the index

    (s + 1) / (n + 1 + MISSES) + DARING * sqrt(ln(N + 1) / (n + 1)),    N: requests of all operators

The operator with the highest index is chosen; among equal ones the first in `MISSES`. This is UCB1 (Auer, Cesa-Bianchi
and Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", 2002) with one gain and some misses assumed
beforehand. A request in flight counts as a request without a gain, so the requests of one round differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from kernelwright.model import Operator

MISSES = {Operator.IMPROVE: 1, Operator.REPAIR: 1, Operator.MERGE: 5, Operator.REWRITE_SIMPLY: 5, Operator.TUNE: 5}
"""Misses assumed beforehand, per operator. Improving and repairing gained in published runs; the other operators have
to show gains first."""
DARING = 0.1
"""Weight of the exploration term. UCB1's own weight, sqrt(2), suits thousands of pulls. Both constants were chosen
among MISSES of 1, 3, 5 and 9 and weights of 0.05 to 0.5 in `benchmarks/strategies.py simulated`. There 1 and 0.5 lose a
quarter of 40 requests to exploration, compared with improvements alone, wherever those gain (docs/searching.md)."""


class Portfolio:
    def __init__(self) -> None:
        self._asked: Counter[Operator] = Counter()
        self._gained: Counter[Operator] = Counter()

    def choose(self, available: Iterable[Operator]) -> Operator:
        """The available operator with the highest index. The caller then reports its request with `asked`. Raises
        `ValueError` for no operators."""
        return max(sorted(available, key=list(MISSES).index), key=self.index)

    def asked(self, operator: Operator) -> None:
        self._asked[operator] += 1

    def gained(self, operator: Operator) -> None:
        self._gained[operator] += 1

    def index(self, operator: Operator) -> float:
        asked, total = self._asked[operator], sum(self._asked.values())
        mean = (self._gained[operator] + 1) / (asked + 1 + MISSES[operator])
        return mean + DARING * math.sqrt(math.log(total + 1) / (asked + 1))

    def gives_up(self, operator: Operator) -> bool:
        """Whether `operator` was requested before and has the strictly lowest index of all operators that were
        requested."""
        known = [self.index(other) for other in self._asked if other is not operator]
        return operator in self._asked and bool(known) and self.index(operator) < min(known)
