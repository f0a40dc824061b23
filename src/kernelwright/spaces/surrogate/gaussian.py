"""A Gaussian process over a list of points, updated one observation at a time.

A point is a tuple of indices (the index of each parameter's choice). The number of an observation may follow later. All
values that do not depend on the observed numbers are stored for all points: adding an observation costs one pass over
the points, and the posterior variance needs no further computation.

Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: algorithm 2.1 (the factor of the covariance),
equation 4.17 (Matérn 5/2), 2.43 (estimated mean).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

Places = tuple[int, ...]
Tables = list[list[list[float]]]
"""For each parameter, the correlation (kernel value) of any two of its choices."""


def likeness_tables(coordinates: Sequence[Sequence[float]], reaches: Sequence[float]) -> Tables:
    """Matérn 5/2 correlations. coordinates: for each parameter, the coordinates of its choices. reaches: for each
    parameter, its length scale."""
    return [
        [[matern(abs(a - b) / reach) for b in along] for a in along]
        for along, reach in zip(coordinates, reaches, strict=True)
    ]


def matern(distance: float) -> float:
    scaled = math.sqrt(5.0) * distance
    return (1.0 + scaled + scaled * scaled / 3.0) * math.exp(-scaled)


def likenesses(point: Places, others: Sequence[Places], tables: Tables, additive: float) -> list[float]:
    """The prior correlation of one point with each of the others."""
    if not tables or not others:
        return [1.0] * len(others)
    rows = [table[place] for table, place in zip(tables, point, strict=True)]
    columns = zip(*others, strict=True)
    alongs = [[row[place] for place in column] for row, column in zip(rows, columns, strict=True)]
    joint = alongs[0]
    for along in alongs[1:]:
        joint = list(map(mul, joint, along))
    if not additive:
        return joint
    share, rest = additive / len(tables), 1.0 - additive
    return [rest * a + share * b for a, b in zip(joint, map(sum, zip(*alongs, strict=True)), strict=True)]


class Process:
    """The process. points: the points to predict; `extend` adds more. tables: see `likeness_tables`. noise: variance of
    an observation over the prior variance. additive: fraction of the prior variance in the sum of one-parameter
    kernels; the rest is in their product."""

    def __init__(self, points: Sequence[Places], tables: Tables, noise: float, additive: float) -> None:
        self.points, self.tables, self.noise, self.additive = list(points), tables, noise, additive
        self.observed: list[int] = []
        self.whitened: list[list[float]] = [[] for _ in points]
        """For each point, its row of L⁻¹ k, one number for each observation."""
        self.diagonal: list[float] = []
        self.left = [1.0] * len(points)
        """For each point, its posterior variance over the prior variance."""

    def observe(self, index: int) -> None:
        """Add an observation at a point; its number may follow later."""
        own = list(self.whitened[index])
        scale = math.sqrt(max(1e-9, self.left[index] + self.noise))
        nearness = likenesses(self.points[index], self.points, self.tables, self.additive)
        for i, (row, near) in enumerate(zip(self.whitened, nearness, strict=True)):
            value = (near - sum(map(mul, row, own))) / scale
            row.append(value)
            self.left[i] = max(0.0, self.left[i] - value * value)
        self.observed.append(index)
        self.diagonal.append(scale)

    def extend(self, points: Sequence[Places]) -> None:
        """Add points to predict."""
        known = [self.points[index] for index in self.observed]
        for point in points:
            row: list[float] = []
            for position, near in enumerate(likenesses(point, known, self.tables, self.additive)):
                row.append((near - sum(map(mul, row, self.factor(position)))) / self.diagonal[position])
            self.whitened.append(row)
            self.left.append(max(0.0, 1.0 - sum(map(mul, row, row))))
        self.points += points

    def factor(self, position: int) -> list[float]:
        """The row of L of an observation, without its diagonal."""
        return self.whitened[self.observed[position]][:position]

    def whiten(self, values: Sequence[float | None]) -> list[float]:
        """L⁻¹ applied to the observed numbers; a missing number (None) counts as its prediction from earlier ones."""
        solved: list[float] = []
        for position, value in enumerate(values):
            if value is None:
                solved.append(0.0)
            else:
                solved.append((value - sum(map(mul, self.factor(position), solved))) / self.diagonal[position])
        return solved

    def predict(self, values: Sequence[float | None]) -> tuple[list[float], float]:
        """The posterior mean at each point, and the estimated prior standard deviation."""
        ones = self.whiten([None if value is None else 1.0 for value in values])
        solved = self.whiten(values)
        mean = sum(map(mul, solved, ones)) / (sum(map(mul, ones, ones)) or 1.0)
        weights = [a - mean * b for a, b in zip(solved, ones, strict=True)]
        count = sum(value is not None for value in values)
        spread = math.sqrt((sum(map(mul, weights, weights)) + PRIOR_COUNT * PRIOR_VARIANCE) / (count + PRIOR_COUNT))
        return [mean + sum(map(mul, row, weights)) for row in self.whitened], spread


PRIOR_COUNT, PRIOR_VARIANCE = 2.0, 0.25
"""Prior of the variance: two pseudo-observations with a standard deviation of 0.5 (in log time, a factor of 1.65), so
that three equal times do not give a variance of zero. Both are guesses; after ten measured configs the result hardly
depends on them."""


def log_evidence(factor: Sequence[Sequence[float]], values: Sequence[float]) -> float:
    """Log marginal likelihood of the numbers up to a constant, with mean and variance profiled out. factor: Cholesky
    factor of the covariance, lower triangular."""
    solved, ones = forward(factor, values), forward(factor, [1.0] * len(values))
    mean = sum(map(mul, solved, ones)) / sum(map(mul, ones, ones))
    rest = [a - mean * b for a, b in zip(solved, ones, strict=True)]
    count = len(values)
    variance = (sum(map(mul, rest, rest)) + PRIOR_COUNT * PRIOR_VARIANCE) / (count + PRIOR_COUNT)
    return -0.5 * (count + PRIOR_COUNT) * math.log(variance) - sum(math.log(row[-1]) for row in factor)


def cholesky(points: Sequence[Places], tables: Tables, noise: float, additive: float) -> list[list[float]]:
    """The Cholesky factor of the points' covariance, including noise."""
    factor: list[list[float]] = []
    for i, one in enumerate(points):
        row: list[float] = []
        for near, other in zip(likenesses(one, points[:i], tables, additive), factor, strict=True):
            row.append((near - sum(map(mul, row, other))) / other[-1])
        row.append(math.sqrt(max(1e-9, 1.0 + noise - sum(map(mul, row, row)))))
        factor.append(row)
    return factor


def forward(factor: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve L x = right for x by forward substitution. factor: L."""
    solved: list[float] = []
    for row, value in zip(factor, right, strict=True):
        solved.append((value - sum(map(mul, row, solved))) / row[-1])
    return solved
