"""Greedy search: each step starts from the best kernel so far. A beam of width one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from kernelwright.model import Candidate, Scalar
from kernelwright.options import read_options
from kernelwright.search.beam import beam_of
from kernelwright.search.protocol import Strategy
from kernelwright.search.rounds import RoundsOptions


class GreedyOptions(RoundsOptions, frozen=True, kw_only=True):
    steps: Annotated[int, Meta(ge=1)] | None = None
    """Number of improvements to ask for. The same as `rounds`, which it overrides; None: `rounds` applies."""


def greedy(starter: Candidate | None, seed: int, known: Sequence[Candidate] = (), /, **options: Scalar) -> Strategy:
    """Options: `GreedyOptions`. seed: not used, because greedy search makes no random choices."""
    chosen = read_options("strategy greedy", options, GreedyOptions)
    chosen = msgspec.structs.replace(chosen, rounds=chosen.steps or chosen.rounds)
    return beam_of(starter, known, chosen, width=1, expand=1)
