"""`topk` and `sort` of short rows by ranks: Inductor leaves `topk` to the library.

The rank of an element is the number of elements before it: larger ones, or equal ones that come first in the row.
Comparing all pairs reads a row of 128 elements from registers 128 times; rows of a router have 8 to 128.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

MOST_IN_ROW = 128
"""The longest row whose pairs are compared."""


def _by_ranks(x: Tensor, dim: int, descending: bool, count: Any) -> tuple[Tensor, Tensor] | Any:
    """The first `count` elements of each row in order, and their places; NotImplemented for long rows."""
    if x.dim() == 0 or x.shape[dim] > MOST_IN_ROW or x.dtype is torch.bool:
        return NotImplemented
    rows = x.movedim(dim, -1)
    one, other = rows.unsqueeze(-1), rows.unsqueeze(-2)
    if not x.dtype.is_floating_point:
        is_before, is_equal = (other > one if descending else other < one), other == one
    else:  # NaN counts as the largest
        one_is, other_is = one != one, other != other
        is_before = ((other > one) | (other_is & ~one_is)) if descending else ((other < one) | (one_is & ~other_is))
        is_equal = (other == one) | (one_is & other_is)
    place = torch.arange(x.shape[dim], device=x.device)
    is_first = place.unsqueeze(-2) < place.unsqueeze(-1)
    rank = (is_before | (is_equal & is_first)).sum(-1)
    is_there = rank.unsqueeze(-2) == torch.arange(count, device=x.device).unsqueeze(-1)
    places = torch.where(is_there, place, 0).sum(-1)
    return rows.gather(-1, places).movedim(-1, dim), places.movedim(-1, dim)


def topk(x: Tensor, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The decomposition of `aten.topk`."""
    return _by_ranks(x, dim, largest, k)


def sort(x: Tensor, dim: int = -1, descending: bool = False) -> Any:
    """The decomposition of `aten.sort`; it is stable."""
    return _by_ranks(x, dim, descending, x.shape[dim])


def sort_stable(x: Tensor, stable: bool | None, dim: int = -1, descending: bool = False) -> Any:
    """The decomposition of `aten.sort.stable`."""
    return sort(x, dim, descending)


RANKS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.topk.default: topk, torch.ops.aten.sort.default: sort, torch.ops.aten.sort.stable: sort_stable,
}  # fmt: skip
