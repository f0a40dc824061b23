"""Which operator to ask for next, by what each has gained in this run so far: a bandit without chance.

It asks nothing and judges nothing (`rounds`, `judging`). The one rule: an operator that was asked for n times, s of
them with a gain, has the index

    (s + 1) / (n + 2) + DARING * sqrt(ln(N + 1) / (n + 1)),    N: requests of all operators

and the highest one is asked for; of equal ones the first in `OPERATORS`. It is UCB1 (Auer, Cesa-Bianchi and Fischer,
"Finite-time Analysis of the Multiarmed Bandit Problem", 2002) with one gain and one miss assumed beforehand. What is
still under way counts as asked and not as a gain, so the requests of one round differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from kernelwright.model import Operator

OPERATORS = (Operator.IMPROVE, Operator.REPAIR, Operator.MERGE, Operator.REWRITE_SIMPLY, Operator.TUNE)
DARING = 0.5
"""Weight of what is not known yet. UCB1's own weight, sqrt(2), is made for thousands of pulls: among the 10 to 40 of a
run it would ask for all operators about equally often, whatever they gain."""


class Portfolio:
    def __init__(self) -> None:
        self._asked: Counter[Operator] = Counter()
        self._gained: Counter[Operator] = Counter()

    def choose(self, available: Iterable[Operator]) -> Operator:
        """The operator to ask for; the caller says with `asked` what it did. Raises `ValueError` for none."""
        return max(sorted(available, key=OPERATORS.index), key=self.index)

    def asked(self, operator: Operator) -> None:
        self._asked[operator] += 1

    def gained(self, operator: Operator) -> None:
        self._gained[operator] += 1

    def index(self, operator: Operator) -> float:
        asked, total = self._asked[operator], sum(self._asked.values())
        mean = (self._gained[operator] + 1) / (asked + 2)
        return mean + DARING * math.sqrt(math.log(total + 1) / (asked + 1))

    def gives_up(self, operator: Operator) -> bool:
        """Whether it has the lowest index of all that were asked for, and another has a higher one."""
        known = [self.index(other) for other in self._asked if other is not operator]
        return operator in self._asked and bool(known) and self.index(operator) < min(known)
