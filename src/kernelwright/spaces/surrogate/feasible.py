"""The chance that a config runs at all, from the outcomes of others. Pure arithmetic.

A failure says nothing of how fast the neighbours are, so this is separate from the model of times. A Gaussian process
is fitted to the outcomes as numbers, 1 for ran and 0 for failed (Rasmussen and Williams 2006, section 6.5:
least-squares classification). Until something failed every config has chance 1, and nothing is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from kernelwright.spaces.surrogate.gaussian import Places, Process, likeness_tables

REACH = 0.6
"""Length scale in ranges of a parameter: what fails, fails from some size on."""
ADDITIVE = 0.5
NOISE = 0.05
BELIEF = 0.8
"""What is believed of a config far from all others."""
SPREAD = 0.5
"""Standard deviation of that belief."""
MOST_KNOWN = 120
"""Outcomes that are learnt from; the border between what runs and what fails is known by then."""


class Feasibility:
    def __init__(self, coordinates: Sequence[Sequence[float]]) -> None:
        self.tables = likeness_tables(coordinates, [REACH] * len(coordinates))
        self.process: Process | None = None
        self.outcomes: dict[int, bool] = {}

    def tell(self, points: Sequence[Places], index: int, ran: bool) -> None:
        """points: all that there are now, in an order that never changes."""
        if len(self.outcomes) >= MOST_KNOWN:
            return
        self.outcomes[index] = ran
        if self.process is not None:
            self._grow(points)
            self.process.observe(index)
        elif not ran:
            self.process = Process(points, self.tables, NOISE, ADDITIVE)
            for known in self.outcomes:
                self.process.observe(known)

    def chances(self, points: Sequence[Places]) -> list[float]:
        """For each point the chance that it runs."""
        if self.process is None:
            return [1.0] * len(points)
        self._grow(points)
        weights = self.process.whiten([self.outcomes[index] - BELIEF for index in self.process.observed])
        return [
            normal_share((BELIEF + sum(map(mul, row, weights)) - 0.5) / (SPREAD * math.sqrt(left + NOISE)))
            for row, left in zip(self.process.whitened, self.process.left, strict=True)
        ]

    def _grow(self, points: Sequence[Places]) -> None:
        if self.process is not None and len(points) > len(self.process.points):
            self.process.extend(points[len(self.process.points) :])


def normal_share(z: float) -> float:
    """How much of a standard normal variable lies below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))
