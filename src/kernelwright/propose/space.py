"""The configs that a source can take, and what the trials so far say about them. Pure.

It chooses nothing (`builtin` does). A point is a config that gives every tunable a value. The one rule: a point
stands for what the source then is, so a value left out and its default are the same point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernelwright.model import Candidate, Status, Trial
from kernelwright.tunables import Tunable, find_tunables

Point = tuple[int, ...]
"""A value for each tunable, in the order of `Space.tunables`."""

FAILURE_FACTOR = 4.0
"""A config that failed counts as this many times slower than the slowest that passed."""


@dataclass(frozen=True)
class Space:
    source: str
    tunables: tuple[Tunable, ...]

    @property
    def size(self) -> int:
        return math.prod(len(tunable.choices) for tunable in self.tunables)

    def point(self, config: dict[str, int]) -> Point:
        """`config` with the defaults filled in. A value that is no choice keeps its place: it is a point outside."""
        return tuple(config.get(tunable.key, tunable.default) for tunable in self.tunables)

    def config(self, point: Point) -> dict[str, int]:
        return {tunable.key: value for tunable, value in zip(self.tunables, point, strict=True)}

    def numbered(self, number: int) -> Point:
        """The point of that number, counting through all of them from 0."""
        values = []
        for tunable in self.tunables:
            number, index = divmod(number, len(tunable.choices))
            values.append(tunable.choices[index])
        return tuple(values)

    def neighbours(self, point: Point) -> list[Point]:
        """The points one step away in one tunable."""
        return [
            (*point[:place], value, *point[place + 1 :])
            for place, tunable in enumerate(self.tunables)
            for value in next_to(tunable.choices, point[place])
        ]

    def second_neighbours(self, point: Point) -> list[Point]:
        """The points one step away in each of two tunables."""
        pairs = {
            further
            for near in self.neighbours(point)
            for further in self.neighbours(near)
            if sum(a != b for a, b in zip(point, further, strict=True)) == 2
        }
        return sorted(pairs)


def next_to(choices: tuple[int, ...], value: int) -> list[int]:
    """The nearest choice below and the nearest above."""
    below = [choice for choice in choices if choice < value][-1:]
    above = [choice for choice in choices if choice > value][:1]
    return below + above


def space_of(trial: Trial, source: str) -> Space:
    """The space of `source`; where the tuner's configs are computed, their number is what the evaluation counted."""
    tunables = find_tunables(source)
    known = {tunable.key for tunable in tunables}
    counted = sorted(trial.evaluation.autotune.items()) if trial.evaluation is not None else []
    return Space(
        source,
        (
            *tunables,
            *(
                Tunable(key=f"autotune:{kernel}", default=0, choices=tuple(range(count)), kind="autotune")
                for kernel, count in counted
                if count > 0 and f"autotune:{kernel}" not in known
            ),
        ),
    )


def taken(space: Space, trials: Iterable[Trial], in_flight: Iterable[Candidate]) -> set[Point]:
    """The points that were tried already, whatever came of them, or are under way."""
    tried = (trial.proposal.candidate for trial in trials)
    return {
        space.point(candidate.config)
        for candidate in (*tried, *in_flight)
        if candidate is not None and candidate.source == space.source
    }


def untried(space: Space, taken: set[Point], start: int) -> Iterator[Point]:
    """Every point that is not taken, counting on from number `start` and round."""
    size = space.size
    for step in range(size):
        point = space.numbered((start + step) % size)
        if point not in taken:
            yield point


@dataclass(frozen=True)
class Forecast:
    """How a point is expected to score, as the logarithm of its time against the mean: lower is better.

    Each value of each tunable has an effect of its own, the mean of what its trials deviate by, drawn towards zero
    where there are few; effects add up. Enough to prefer what worked and avoid what failed, and no more.
    """

    effects: dict[tuple[int, int], float]

    def of(self, point: Point) -> float:
        return sum(self.effects.get((place, value), 0.0) for place, value in enumerate(point))


def forecast(space: Space, trials: Iterable[Trial]) -> Forecast:
    """What the trials of this source say. A failure that no config can change says nothing."""
    scores = []
    failed = []
    for trial in trials:
        candidate, evaluation = trial.proposal.candidate, trial.evaluation
        if candidate is None or evaluation is None or candidate.source != space.source:
            continue
        if trial.score_us is not None and trial.score_us > 0:
            scores.append((space.point(candidate.config), math.log(trial.score_us)))
        elif evaluation.status not in (Status.PASSED, Status.NOT_VERIFIED):
            failed.append(space.point(candidate.config))
    worst = max((score for _, score in scores), default=0.0) + math.log(FAILURE_FACTOR)
    scores += [(point, worst) for point in failed]
    if not scores:
        return Forecast({})
    mean = sum(score for _, score in scores) / len(scores)
    deviations: dict[tuple[int, int], list[float]] = {}
    for point, score in scores:
        for place, value in enumerate(point):
            deviations.setdefault((place, value), []).append(score - mean)
    return Forecast({effect: sum(found) / (len(found) + 1) for effect, found in deviations.items()})
