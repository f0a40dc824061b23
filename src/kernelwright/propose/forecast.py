"""How the configs of a source are expected to do, from those that were tried. Pure arithmetic.

A Gaussian process over the logarithm of the time (Rasmussen and Williams, "Gaussian Processes for Machine Learning",
2006, algorithm 2.1), small enough to need no library. It chooses nothing. The one rule: it is a guess that orders
moves, and no figure of it is ever shown.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.model import Status, Trial
from kernelwright.propose.space import Point, Space

FAILURE_FACTOR = 4.0
"""A config that failed counts as this many times slower than the slowest that passed."""
REACH_STEPS = 1.5
"""How many steps along a tunable a trial speaks for (the length scale). Tried on two synthetic spaces of 125 configs
(a bowl, a ridge), 30 searches of 20 trials each: with 1, 1.5 and 2 the worst search ended at 1.31, 1.00 and 1.00 times
the best config's time, where 20 random draws end at 1.62 (bowl) and 1.14 (ridge) on average."""
NOISE = 0.05
"""Variance of a time against that of all of them: repeated timings differ, and neighbours are not smooth."""
DARING = 1.0
"""How many standard deviations of doubt a config is given the benefit of."""
MOST_TRIALS = 120
"""The work grows as their cube; 120 take a tenth of a second."""


@dataclass(frozen=True)
class Forecast:
    """`of` a point: the expected time, as a score without unit, less what doubt allows it. Lower is better."""

    space: Space
    known: tuple[Point, ...]
    factor: tuple[tuple[float, ...], ...]
    """Lower triangular factor of the known points' covariances."""
    weights: tuple[float, ...]

    def of(self, point: Point) -> float:
        near = [likeness(self.space, point, other) for other in self.known]
        mean = sum(a * b for a, b in zip(near, self.weights, strict=True))
        explained = sum(value * value for value in forward(self.factor, near))
        return mean - DARING * math.sqrt(max(0.0, 1.0 - explained))


def forecast(space: Space, trials: Iterable[Trial]) -> Forecast:
    """What the trials of this source say. A status that is neither a time nor a failure says nothing."""
    timed: list[tuple[Point, float]] = []
    failed: list[Point] = []
    for trial in trials:
        candidate, evaluation = trial.proposal.candidate, trial.evaluation
        if candidate is None or evaluation is None or candidate.source != space.source:
            continue
        if trial.score_us is not None and trial.score_us > 0:
            timed.append((space.point(candidate.config), math.log(trial.score_us)))
        elif evaluation.status not in (Status.PASSED, Status.NOT_VERIFIED):
            failed.append(space.point(candidate.config))
    worst = max((score for _, score in timed), default=0.0) + math.log(FAILURE_FACTOR)
    every = [*timed, *((point, worst) for point in failed)]
    if len(every) > MOST_TRIALS:
        every = sorted(every, key=lambda one: one[1])[: MOST_TRIALS // 2] + every[-MOST_TRIALS // 2 :]
    return fitted(space, dict(every))


def fitted(space: Space, scores: dict[Point, float]) -> Forecast:
    """The forecast that knows these scores."""
    known = tuple(scores)
    mean = statistics.fmean(scores.values()) if scores else 0.0
    spread = statistics.pstdev(scores.values()) if scores else 0.0
    centred = [(score - mean) / (spread or 1.0) for score in scores.values()]
    factor: list[tuple[float, ...]] = []
    for i, one in enumerate(known):
        row: list[float] = []
        for j in range(i):
            inner = sum(a * b for a, b in zip(row, factor[j], strict=False))
            row.append((likeness(space, one, known[j]) - inner) / factor[j][j])
        row.append(math.sqrt(1.0 + NOISE - sum(a * a for a in row)))
        factor.append(tuple(row))
    weights = backward(factor, forward(factor, centred))
    return Forecast(space, known, tuple(factor), tuple(weights))


def likeness(space: Space, one: Point, other: Point) -> float:
    """The covariance of two points: 1 for the same, falling with the steps between them."""
    squared = 0.0
    for tunable, a, b in zip(space.tunables, one, other, strict=True):
        if a == b:
            continue
        # The configs of a tuner are in no order: any two of them are a step apart.
        steps = 1.0 if tunable.kind == "autotune" else steps_between(tunable.choices, a, b)
        squared += steps * steps
    return math.exp(-squared / (2.0 * REACH_STEPS**2))


def steps_between(choices: Sequence[int], a: int, b: int) -> float:
    """How many choices apart two values lie; a value outside the choices counts as the nearest."""
    return float(abs(place_of(choices, a) - place_of(choices, b)))


def place_of(choices: Sequence[int], value: int) -> int:
    return min(range(len(choices)), key=lambda index: abs(choices[index] - value))


def forward(factor: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """x of L x = right, L lower triangular."""
    solved: list[float] = []
    for row, value in zip(factor, right, strict=True):
        solved.append((value - sum(a * b for a, b in zip(row, solved, strict=False))) / row[len(solved)])
    return solved


def backward(factor: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """x of transposed L x = right."""
    solved = list(right)
    for i in reversed(range(len(solved))):
        solved[i] /= factor[i][i]
        for j in range(i):
            solved[j] -= factor[i][j] * solved[i]
    return solved
