"""Island evolution: separate populations of kernels, with crossover, mutation and occasional migration.

Crossover is the operator `merge`; mutations are the other operators. Of kernels with the same compiled code only one is
kept, on one island until it migrates, so no population fills with copies.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from kernelwright.model import Candidate, Operator, Scalar, Trial
from kernelwright.options import read_options
from kernelwright.search.protocol import MOST_AT_ONCE, Step, Strategy
from kernelwright.search.rounds import Rounds, RoundsOptions


class EvolveOptions(RoundsOptions, frozen=True, kw_only=True):
    islands: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE)] = 2
    children: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE)] = 2
    """Children per island and generation. The default gives four in all, as in beam search."""
    size: Annotated[int, Meta(ge=2, le=MOST_AT_ONCE)] = 6
    """Maximum number of kernels on an island; the slowest ones are dropped."""
    crossover: Annotated[float, Meta(ge=0, le=1)] = 0.3
    """Probability that a child of an island with at least two kernels is a merge. Under `operators=portfolio` the gains
    of earlier merges decide instead."""
    migrate: Annotated[int, Meta(ge=1)] = 4
    """Interval in generations. After each interval, the best kernel of every island is a parent on the next island too,
    and stays one."""


def evolve(starter: Candidate | None, seed: int, known: Sequence[Candidate] = (), /, **options: Scalar) -> Strategy:
    """Options: `EvolveOptions`. seed: of the random choices; each child has its own generator."""
    chosen = read_options("strategy evolve", options, EvolveOptions)
    return Rounds(starter, known, chosen, Islands(chosen, seed).plan)


class Islands:
    """The island of each kernel. A child, with its repairs and tunings, belongs to its parents' island; seeds belong to
    every island."""

    def __init__(self, options: EvolveOptions, seed: int) -> None:
        self._options = options
        self._seed = seed
        self._homes: dict[int, int] = {}
        self._migrants: dict[int, set[int]] = {island: set() for island in range(options.islands)}

    def plan(self, rounds: Rounds) -> list[Step]:
        kernels = rounds.judging.best_first()
        if rounds.round % self._options.migrate == 0:
            for island, migrants in self._migrants.items():
                before = (island - 1) % self._options.islands
                migrants.update(trial.number for trial in self._living(before, kernels, rounds)[:1])
        steps: list[Step] = []
        for island in range(self._options.islands):
            living = self._living(island, kernels, rounds)
            for _ in range(self._options.children):
                number = rounds.next_number + len(steps)
                self._homes[number] = island
                steps.append(self._step(rounds, living, random.Random(f"{self._seed} {number}")))
        return steps

    def _step(self, rounds: Rounds, living: list[Trial], chance: random.Random) -> Step:
        parent = drawn(living, chance)
        others = [trial for trial in living if trial is not parent]
        partner = drawn(others, chance) if others else None
        if self._options.operators == "portfolio":
            return rounds.choose(parent, partner)
        crosses = chance.random() < self._options.crossover and partner is not None
        return rounds.step(Operator.MERGE if crosses else Operator.IMPROVE, parent, partner)

    def _living(self, island: int, kernels: list[Trial], rounds: Rounds) -> list[Trial]:
        """The kernels of an island, best first. Never empty: an island without kernels of its own gets the best kernel
        of all."""
        here = [
            trial
            for trial in kernels
            if self._homes.get(rounds.origin(trial.number), island) == island or trial.number in self._migrants[island]
        ]
        return here[: self._options.size] or kernels[:1]


def drawn(living: list[Trial], chance: random.Random) -> Trial:
    """Tournament selection: the better of two kernels drawn at random. random() alone gives the same sequence on every
    Python version."""
    return living[min(int(chance.random() * len(living)) for _ in range(2))]
