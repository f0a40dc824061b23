"""Beam search: each round starts from the few best kernels that really differ. This is the default strategy.

Parents differ in compiled code, so that the beam cannot collapse onto one kernel.
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
    """Parents kept per round, distinct by compiled code. Without that, a beam collapses onto one kernel, as
    KernelAgent's did in half of its rounds. Four is the width of KernelAgent's published runs."""
    expand: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE)] = 1
    """Children per parent. While there are fewer parents than `width`, they share all width * expand children."""


def beam(starter: Candidate | None, seed: int, known: Sequence[Candidate] = (), /, **options: Scalar) -> Strategy:
    """Options: `BeamOptions`. seed: not used, because beam search makes no random choices."""
    chosen = read_options("strategy beam", options, BeamOptions)
    return beam_of(starter, known, chosen, chosen.width, chosen.expand)


def beam_of(
    starter: Candidate | None, known: Sequence[Candidate], options: RoundsOptions, width: int, expand: int
) -> Rounds:
    def plan(rounds: Rounds) -> list[Step]:
        """Takes the parents in turn. The partner for a merge is the next best kernel; for the last parent it is the
        best one."""
        kernels = rounds.judging.best_first()
        parents, ring = kernels[:width], kernels[: max(width, 2)]
        steps = []
        for child in range(width * expand):
            place = child % len(parents)
            partner = ring[(place + 1) % len(ring)] if len(ring) > 1 else None
            steps.append(rounds.choose(parents[place], partner))
        return steps

    return Rounds(starter, known, options, plan)
