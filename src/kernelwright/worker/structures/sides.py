"""Where the sides of a tensor come from, through views and copies: `(batch * heads, rows, depth)` of `(batch, rows,
heads, depth)`, however it was written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import SymInt
from torch.fx import Node

aten = torch.ops.aten

COPIES = (aten.clone.default, aten.alias.default, aten.detach.default, aten._to_copy.default, aten.slice.Tensor)
"""Operators that change no place of an element where the shape stays the same."""

MOVES = (
    aten.permute.default, aten.transpose.int, aten.t.default, aten.unsqueeze.default, aten.expand.default,
)  # fmt: skip

VIEWS = (aten.view.default, aten._unsafe_view.default, aten.reshape.default)


@dataclass(frozen=True)
class Part:
    """A side of a tensor, or a side along which it was copied. place: among the tensor's sides; None for copies."""

    place: int | None
    size: Any


Side = tuple[Part, ...]
"""A side as the product of parts; () for one of length 1."""


@dataclass(frozen=True)
class Origin:
    """The tensor that another one is a view or a copy of, and the parts of its sides."""

    base: Node
    sides: tuple[Side, ...]


def origins(node: Node) -> list[Origin]:
    """Every tensor that a node is a view or a copy of, itself first."""
    found, steps, base = list[Origin](), list[Node](), node
    while True:
        whole = tuple((Part(place, size),) if size != 1 else () for place, size in enumerate(sizes_of(base)))
        sides: tuple[Side, ...] | None = whole
        for step in reversed(steps):
            sides = None if sides is None else through(step, sides)
        if sides is not None and base.meta["val"].dtype == node.meta["val"].dtype:
            found.append(Origin(base, sides))
        if base.op != "call_function" or not base.args or not isinstance(base.args[0], Node):
            return found
        if base.target not in (*COPIES, *MOVES, *VIEWS):
            return found
        steps.append(base)
        base = base.args[0]


def sizes_of(node: Node) -> tuple[Any, ...]:
    """The sizes of a tensor as numbers and expressions."""
    return tuple(map(_size, node.meta["val"].shape))


def _size(size: Any) -> Any:
    if isinstance(size, SymInt):
        return sympy.expand(size.node.shape_env.replace(size.node.expr))
    return sympy.Integer(size)


def through(step: Node, sides: Sequence[Side]) -> tuple[Side, ...] | None:
    """The sides after one step; None where it does more than view and copy."""
    target, rest = step.target, step.args[1:]
    if target in COPIES:
        return tuple(sides) if sizes_of(step.args[0]) == sizes_of(step) else None  # type: ignore[arg-type]
    if target is aten.permute.default:
        return tuple(sides[place] for place in rest[0])  # type: ignore[union-attr, index]
    if target is aten.t.default:
        return tuple(reversed(sides))
    if target is aten.transpose.int:
        order = [*range(len(sides))]
        one, other = (int(place) % len(sides) for place in rest)  # type: ignore[arg-type]
        order[one], order[other] = order[other], order[one]
        return tuple(sides[place] for place in order)
    if target is aten.unsqueeze.default:
        place = int(rest[0]) % (len(sides) + 1)  # type: ignore[arg-type]
        return (*sides[:place], (), *sides[place:])
    if target is aten.expand.default and len(sides) == step.meta["val"].dim():
        return tuple(side or ((Part(None, size),) if size != 1 else ())
                     for side, size in zip(sides, sizes_of(step), strict=True))  # fmt: skip
    if target in VIEWS:
        return _viewed([part for side in sides for part in side], sizes_of(step))
    return None


def _viewed(parts: list[Part], sizes: Sequence[Any]) -> tuple[Side, ...] | None:
    """The parts in sides of these sizes."""
    made = []
    for size in sizes:
        side = list[Part]()
        while sympy.expand(math.prod((part.size for part in side), start=sympy.Integer(1)) - size) != 0:
            if not parts:
                return None
            side.append(parts.pop(0))
        made.append(tuple(side))
    return None if parts else tuple(made)
