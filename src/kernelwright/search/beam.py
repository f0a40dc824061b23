"""Beam search: each round goes on from the few best kernels that are really different.

The default. It does not choose configs or write code. Parents are distinct by compiled code, so that
the beam cannot collapse onto one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from kernelwright.model import Candidate, Scalar
from kernelwright.options import read_options
from kernelwright.search.protocol import MOST_AT_ONCE, Step, Strategy
from kernelwright.search.rounds import Rounds, RoundsOptions


class BeamOptions(RoundsOptions, frozen=True, kw_only=True):
    width: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE)] = 4
    """Parents kept, distinct by compiled code: else a beam collapses onto one kernel, as KernelAgent's did in half
    of its rounds. Four is what its published runs use."""
    expand: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE)] = 1
    """Children per parent. While there are fewer parents than `width` they share all width * expand children."""


def beam(starter: Candidate | None, seed: int, known: Sequence[Candidate] = (), /, **options: Scalar) -> Strategy:
    """Options: `BeamOptions`. seed: not used, as nothing here is left to chance."""
    chosen = read_options("strategy beam", options, BeamOptions)
    return beam_of(starter, known, chosen, chosen.width, chosen.expand)


def beam_of(
    starter: Candidate | None, known: Sequence[Candidate], options: RoundsOptions, width: int, expand: int
) -> Rounds:
    def plan(rounds: Rounds) -> list[Step]:
        """Each parent in turn; what it may be merged with is the next best, for the last one the best."""
        kernels = rounds.judging.best_first()
        parents, ring = kernels[:width], kernels[: max(width, 2)]
        steps = []
        for child in range(width * expand):
            place = child % len(parents)
            partner = ring[(place + 1) % len(ring)] if len(ring) > 1 else None
            steps.append(rounds.choose(parents[place], partner))
        return steps

    return Rounds(starter, known, options, plan)
