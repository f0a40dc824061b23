"""A Gaussian process over a fixed list of points, grown one observation at a time. Pure arithmetic.

It knows neither configs nor times: a point is a row of places (which choice of each parameter), and an observation is
a number or, as yet, nothing. Everything that does not depend on the observed numbers is kept for all
points, so that adding an observation costs one pass over the points and a prediction costs nothing.

Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: algorithm 2.1 (the factor of the covariance),
equation 4.17 (Matérn 5/2), 2.43 (estimated mean).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

Places = tuple[int, ...]
Tables = list[list[list[float]]]
"""For each parameter, the likeness of any two of its choices."""


def likeness_tables(coordinates: Sequence[Sequence[float]], reaches: Sequence[float]) -> Tables:
    """coordinates: for each parameter where its choices lie. reaches: for each parameter its length scale."""
    return [
        [[matern(abs(a - b) / reach) for b in along] for a in along]
        for along, reach in zip(coordinates, reaches, strict=True)
    ]


def matern(distance: float) -> float:
    scaled = math.sqrt(5.0) * distance
    return (1.0 + scaled + scaled * scaled / 3.0) * math.exp(-scaled)


def likenesses(point: Places, others: Sequence[Places], tables: Tables, additive: float) -> list[float]:
    """The prior's correlation of one point with each of the others."""
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
    """points: all that will ever be asked about. tables: see `likeness_tables`. noise: variance of an observation
    against the prior's. additive: how much of the prior's variance the parameters have each for themselves; the rest
    is joint."""

    def __init__(self, points: Sequence[Places], tables: Tables, noise: float, additive: float) -> None:
        self.points, self.tables, self.noise, self.additive = list(points), tables, noise, additive
        self.observed: list[int] = []
        self.whitened: list[list[float]] = [[] for _ in points]
        """For each point its row of L⁻¹ k, one number for each observation."""
        self.diagonal: list[float] = []
        self.left = [1.0] * len(points)
        """The share of the prior's variance that is still unexplained."""

    def observe(self, index: int) -> None:
        """Add an observation at that point; its number may come later."""
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
        """More points to ask about."""
        known = [self.points[index] for index in self.observed]
        for point in points:
            row: list[float] = []
            for position, near in enumerate(likenesses(point, known, self.tables, self.additive)):
                row.append((near - sum(map(mul, row, self.factor(position)))) / self.diagonal[position])
            self.whitened.append(row)
            self.left.append(max(0.0, 1.0 - sum(map(mul, row, row))))
        self.points += points

    def factor(self, position: int) -> list[float]:
        """The row of L of that observation, without its diagonal."""
        return self.whitened[self.observed[position]][:position]

    def whiten(self, values: Sequence[float | None]) -> list[float]:
        """L⁻¹ of the observed numbers; one that is missing counts as what the others predict for it."""
        solved: list[float] = []
        for position, value in enumerate(values):
            if value is None:
                solved.append(0.0)
            else:
                solved.append((value - sum(map(mul, self.factor(position), solved))) / self.diagonal[position])
        return solved

    def predict(self, values: Sequence[float | None]) -> tuple[list[float], float]:
        """The expected number at each point, and the estimated standard deviation of the prior."""
        ones = self.whiten([None if value is None else 1.0 for value in values])
        solved = self.whiten(values)
        mean = sum(map(mul, solved, ones)) / (sum(map(mul, ones, ones)) or 1.0)
        weights = [a - mean * b for a, b in zip(solved, ones, strict=True)]
        count = sum(value is not None for value in values)
        spread = math.sqrt((sum(map(mul, weights, weights)) + PRIOR_COUNT * PRIOR_VARIANCE) / (count + PRIOR_COUNT))
        return [mean + sum(map(mul, row, weights)) for row in self.whitened], spread


PRIOR_COUNT, PRIOR_VARIANCE = 2.0, 0.25
"""Two imagined observations of a spread of 0.5 (in log time, a factor of 1.65), so that three equal times do not
pass for certainty. Both are guesses; the result hardly depends on them once ten configs were measured."""


def log_evidence(factor: Sequence[Sequence[float]], values: Sequence[float]) -> float:
    """How well a covariance explains the numbers, mean and variance profiled out. factor: lower triangular."""
    solved, ones = forward(factor, values), forward(factor, [1.0] * len(values))
    mean = sum(map(mul, solved, ones)) / sum(map(mul, ones, ones))
    rest = [a - mean * b for a, b in zip(solved, ones, strict=True)]
    count = len(values)
    variance = (sum(map(mul, rest, rest)) + PRIOR_COUNT * PRIOR_VARIANCE) / (count + PRIOR_COUNT)
    return -0.5 * (count + PRIOR_COUNT) * math.log(variance) - sum(math.log(row[-1]) for row in factor)


def cholesky(points: Sequence[Places], tables: Tables, noise: float, additive: float) -> list[list[float]]:
    """The factor of the points' covariance, noise included."""
    factor: list[list[float]] = []
    for i, one in enumerate(points):
        row: list[float] = []
        for near, other in zip(likenesses(one, points[:i], tables, additive), factor, strict=True):
            row.append((near - sum(map(mul, row, other))) / other[-1])
        row.append(math.sqrt(max(1e-9, 1.0 + noise - sum(map(mul, row, row)))))
        factor.append(row)
    return factor


def forward(factor: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """x of L x = right."""
    solved: list[float] = []
    for row, value in zip(factor, right, strict=True):
        solved.append((value - sum(map(mul, row, solved))) / row[-1])
    return solved
