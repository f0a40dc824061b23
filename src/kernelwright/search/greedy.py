"""Greedy search: always improve the best kernel so far, one step at a time.

A beam of width one, whose round is one child and its repairs. The one rule: a child becomes the parent only when it
is strictly better.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kernelwright.model import Candidate, Record, Scalar
from kernelwright.search.beam import Beam, BeamOptions
from kernelwright.search.options import read_options
from kernelwright.search.protocol import Strategy
from kernelwright.search.staleness import PATIENCE


class GreedyOptions(Record, frozen=True, kw_only=True):
    """As for the beam; steps: improvements to ask for, None: until the budget is spent."""

    repairs: Annotated[int, Meta(ge=0)] = 2
    seeds: Annotated[int, Meta(ge=1)] = 3
    steps: Annotated[int, Meta(ge=1)] | None = None
    patience: Annotated[int, Meta(ge=1)] = PATIENCE


def greedy(starter: Candidate | None, seed: int, **options: Scalar) -> Strategy:
    """Options: `GreedyOptions`. seed: not used, as nothing here is left to chance."""
    chosen = read_options("greedy", options, GreedyOptions)
    return Beam(
        starter,
        BeamOptions(
            width=1,
            expand=1,
            repairs=chosen.repairs,
            seeds=chosen.seeds,
            rounds=chosen.steps,
            patience=chosen.patience,
        ),
    )
