"""The catalogue of moves: changes to a Triton kernel against each limit, when to make them, when not, with a sketch.

They are text for prompts and reports, and stand in `moves.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable

import msgspec

from kernelwright.diagnosis.traits import Trait
from kernelwright.model import Limit, Record
from kernelwright.templates import shipped


class Move(Record, frozen=True, kw_only=True):
    """against: the limits that it addresses. needs: traits that a problem must have for it. sketch: Triton code, with
    names that a reader fills in."""

    name: str
    against: tuple[Limit, ...]
    needs: tuple[Trait, ...] = ()
    what: str
    when: str
    when_not: str
    sketch: str


MOVES: tuple[Move, ...] = msgspec.convert(
    tomllib.loads(shipped("kernelwright.diagnosis", "moves.toml"))["move"], tuple[Move, ...]
)


def moves_against(limit: Limit) -> tuple[Move, ...]:
    return tuple(move for move in MOVES if limit in move.against)


def fitting(traits: frozenset[Trait], moves: Iterable[Move] = MOVES) -> tuple[Move, ...]:
    """The moves that fit a problem with these traits."""
    return tuple(one for one in moves if traits.issuperset(one.needs))


def move(name: str) -> Move:
    """The move with this name; KeyError where there is none."""
    return {one.name: one for one in MOVES}[name]
