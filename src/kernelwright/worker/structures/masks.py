"""Masks that are computed from sizes alone: their values at several sizes show which columns of a row they leave."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import SymInt, Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node

MOST_ELEMENTS = 1 << 24
"""Of a mask that is computed here. Longer sides that are symbols are shortened first."""

PARTS = (1, 2, 4)
"""What sizes are divided by: a mask has to leave the same band at each."""

SEEN = 2
"""A whole number that the mask is computed from may be a limit. It is seen where sides are that many times as long."""

_Values = Mapping[Node, int]


@dataclass(frozen=True)
class Band:
    """The columns that each row keeps: those with `least <= column - row <= most`, as expressions of `rows` and
    `columns`; None where nothing limits them."""

    least: str | None
    most: str | None


def band_of(graph: GraphModule, mask: Node, kept: Callable[[Tensor], Tensor | None]) -> Band | None:
    """The band that a mask of (…, rows, columns) leaves; None where it leaves something else, or depends on tensors.
    kept: which elements a mask with these values leaves; None where it does more than that."""
    with unset_fake_temporarily(), torch.no_grad():
        return _band(graph, mask, kept)


def _band(graph: GraphModule, mask: Node, kept: Callable[[Tensor], Tensor | None]) -> Band | None:
    """See `band_of`."""
    sizes = [one for one in graph.graph.nodes if one.op == "placeholder" and isinstance(one.meta["val"], SymInt)]
    limits, constants, shorter = [], set[int](), 1
    while sizes and not _is_small(mask, shorter) and _elements(mask, 2 * shorter) < _elements(mask, shorter):
        shorter *= 2
    for part in PARTS if sizes else (1,):
        values = {one: max(hint_of(one.meta["val"]) // (part * shorter), 2) for one in sizes}
        try:
            made = _computed(mask, values, {}, constants, shorter)
        except (_NotFromSizes, RuntimeError, TypeError, ValueError):
            return None
        if not isinstance(made, Tensor) or made.dim() < 2 or made.numel() != made.shape[-1] * made.shape[-2]:
            return None
        left = kept(made.reshape(made.shape[-2:]))
        if left is None or (found := _limits(left)) is None:
            return None
        limits.append((*found, *made.shape[-2:]))
    if sizes and max(constants, default=0) * SEEN > min(limits[0][2:]):
        return None
    lowest = _said([(least, 1 - rows, columns - rows) for least, _, rows, columns in limits], operator.le)
    highest = _said([(most, columns - 1, columns - rows) for _, most, rows, columns in limits], operator.ge)
    return None if _OTHER in (lowest, highest) else Band(lowest, highest)


class _NotFromSizes(Exception):
    """A value depends on a tensor of the graph."""


_OTHER = "?"


def _said(limits: Sequence[tuple[int | None, int, int]], is_hidden: Callable[[int, int], bool]) -> str | None:
    """A limit at several sizes as one expression. limits: at each size the limit, None where nothing is beyond it; the
    number from which on a limit would not be seen there; and columns - rows."""
    if all(one is None for one, _, _ in limits):
        return None
    for rest in (0, 1):  # whether the limit moves with columns - rows
        found = {one - rest * apart for one, _, apart in limits if one is not None}
        if len(found) == 1:
            (number,) = found
            if all(one is not None or is_hidden(number + rest * apart, edge) for one, edge, apart in limits):
                return f"columns - rows + {number}" if rest else str(number)
    return _OTHER


def _limits(kept: Tensor) -> tuple[int | None, int | None] | None:
    rows, columns = kept.shape
    apart = torch.arange(columns) - torch.arange(rows)[:, None]
    inside = apart[kept]
    if not inside.numel():
        return None
    least, most = int(inside.min()), int(inside.max())
    if not torch.equal(kept, (apart >= least) & (apart <= most)):
        return None
    return (None if least == 1 - rows else least), (None if most == columns - 1 else most)


def _computed(value: Any, sizes: _Values, known: dict[Node, Any], constants: set[int], shorter: int) -> Any:
    """A value of the graph at these sizes. constants: whole numbers on the way are added. shorter: see `_elements`."""
    if isinstance(value, list | tuple):
        return type(value)(_computed(one, sizes, known, constants, shorter) for one in value)
    if isinstance(value, torch.device):
        return torch.device("cpu")
    if not isinstance(value, Node):
        constants |= {abs(value)} if type(value) is int and abs(value) < sys.maxsize else set()  # the end of a slice
        return value
    if value not in known:
        if value not in sizes and (value.op != "call_function" or not _is_small(value, shorter)):
            raise _NotFromSizes
        compute = functools.partial(_computed, sizes=sizes, known=known, constants=constants, shorter=shorter)
        known[value] = sizes[value] if value in sizes else value.target(  # type: ignore[operator]
            *map(compute, value.args), **{name: compute(one) for name, one in value.kwargs.items()}
        )  # fmt: skip
    return known[value]


def _is_small(node: Node, shorter: int) -> bool:
    return _elements(node, shorter) <= MOST_ELEMENTS


def _elements(node: Node, shorter: int) -> int:
    """Elements of a node's tensor, with sides that are symbols divided by `shorter`."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor):
        return 1
    return math.prod(hint_of(side) // shorter if isinstance(side, SymInt) else int(side) for side in value.shape)


def hint_of(size: Any) -> int:
    """A size's value at the captured size."""
    return int(size.node.hint) if isinstance(size, SymInt) else int(size)
