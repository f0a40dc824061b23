"""Choice of the next operator by the gains of each in this run: a bandit without chance.

It asks nothing and judges nothing (`rounds`, `judging`). An operator that was asked for n times, s of
them with a gain, has the index

    (s + 1) / (n + 1 + MISSES) + DARING * sqrt(ln(N + 1) / (n + 1)),    N: requests of all operators

and the highest one is asked for; of equal ones the first in `MISSES`. It is UCB1 (Auer, Cesa-Bianchi and Fischer,
"Finite-time Analysis of the Multiarmed Bandit Problem", 2002) with a gain and some misses assumed beforehand. What is
still under way counts as asked and not as a gain, so the requests of one round differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from kernelwright.model import Operator

MISSES = {
    Operator.IMPROVE: 1,
    Operator.REPAIR: 1,
    Operator.MERGE: 5,
    Operator.REWRITE_SIMPLY: 5,
    Operator.TUNE: 5,
}
"""Misses assumed beforehand: improving and repairing are what gained in published runs, the others have to show it."""
DARING = 0.1
"""Weight of what is not known yet; UCB1's own, sqrt(2), is made for thousands of pulls. Both were chosen among MISSES
of 1, 3, 5 and 9 and weights of 0.05 to 0.5 in `benchmarks/strategies.py simulated`, where 1 and 0.5 lose a quarter
of 40 requests to exploring, against improvements alone, wherever those gain (docs/searching.md)."""


class Portfolio:
    def __init__(self) -> None:
        self._asked: Counter[Operator] = Counter()
        self._gained: Counter[Operator] = Counter()

    def choose(self, available: Iterable[Operator]) -> Operator:
        """The operator to ask for; the caller says with `asked` what it did. Raises `ValueError` for none."""
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
        """Whether it has the lowest index of all that were asked for, and another has a higher one."""
        known = [self.index(other) for other in self._asked if other is not operator]
        return operator in self._asked and bool(known) and self.index(operator) < min(known)
