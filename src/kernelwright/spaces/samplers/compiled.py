"""What is known of configs that were compiled before any of them is measured, and what a search makes of it. Pure.

It is no time model: which of two configs that do not spill is faster, it does not know. The one rule: of what nobody
compiled nothing is known, so nothing is held against it.
"""

from __future__ import annotations

from typing import NamedTuple

HALVING_BYTES = 32
"""Spilled bytes per thread that make a config half as promising. A quarter of it finds the same, and four times as much
half a per cent less on one of four recorded spaces: what spills at all mostly spills hundreds."""


class Compiled(NamedTuple):
    """spill_bytes: per thread. occupancy: the share of a multiprocessor's warps that are resident."""

    spill_bytes: int
    occupancy: float


def promise(one: Compiled | None) -> float:
    """The part of what a model expects to gain that is left when spills are counted."""
    return 1.0 if one is None else 1.0 / (1.0 + one.spill_bytes / HALVING_BYTES)


def is_as_light(one: Compiled | None, other: Compiled | None) -> bool:
    """Whether it spills no more and keeps no fewer warps resident than the other."""
    if one is None or other is None:
        return True
    return one.spill_bytes <= other.spill_bytes and one.occupancy >= other.occupancy
