"""The configs that a source can take, and which of them were tried. Pure.

It chooses nothing (`builtin` does) and expects nothing (`forecast` does). A point is a config that gives every
tunable a value. The one rule: a point stands for what the source then is, so a value left out and its default are
the same point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernelwright.model import Candidate, Trial
from kernelwright.source import Tunable, find_tunables

Point = tuple[int, ...]
"""A value for each tunable, in the order of `Space.tunables`."""


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
