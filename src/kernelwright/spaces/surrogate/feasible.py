"""Feasibility model: the probability that a config runs, from the outcomes of other configs.

A failure contains no information on the speed of neighbours, so this model is separate from that of times. A Gaussian
process is fitted to the outcomes as numbers, 1 for ran and 0 for failed (Rasmussen and Williams 2006, section 6.5:
least-squares classification). Before the first failure every config has probability 1, and nothing is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from kernelwright.spaces.surrogate.gaussian import Places, Process, likeness_tables

REACH = 0.6
"""Length scale, in ranges of a parameter. It is long, because configs usually fail from some size on."""
ADDITIVE = 0.5
NOISE = 0.05
BELIEF = 0.8
"""Prior mean: the outcome assumed for a config far from all others."""
SPREAD = 0.5
"""Prior standard deviation."""
MOST_KNOWN = 120
"""Largest number of outcomes that the model uses; the border between running and failing configs is known by then."""


class Feasibility:
    def __init__(self, coordinates: Sequence[Sequence[float]]) -> None:
        self.tables = likeness_tables(coordinates, [REACH] * len(coordinates))
        self.process: Process | None = None
        self.outcomes: dict[int, bool] = {}

    def tell(self, points: Sequence[Places], index: int, ran: bool) -> None:
        """Report an outcome. points: all current points; their order never changes. index: of the config in points."""
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
        """For each point, the probability that it runs."""
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
    """The cumulative distribution function of the standard normal distribution."""
    return 0.5 * math.erfc(-z / math.sqrt(2))
