"""`topk` and `sort` of short rows by ranks, and of longer ones in registers.

The rank of an element is the number of elements before it: larger ones, or equal ones that come first in the row.
Comparing all pairs reads a row of 128 elements from registers 128 times; rows of a router have 8 to 128.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._inductor import config, lowering

from kernelwright.worker.generate.hints import value_of

MOST_IN_ROW = 128
"""The longest row whose pairs are compared."""

MOST_SORTED = 2048
"""The longest row that a kernel sorts, in 66 steps in registers. Inductor leaves rows of over 512 to the library, all
whose length is a symbol, and `topk`, `kthvalue`, `median` and `mode`, unless a setting that torch 2.13 has is on."""


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


def install() -> None:
    """Make Inductor sort rows of up to MOST_SORTED numbers in kernels, in this process and until it ends."""
    if not hasattr(config.triton, "decompose_sort_ops"):
        return
    aten = torch.ops.aten
    for operator in (aten.sort.default, aten.sort.stable, aten.topk.default, aten.kthvalue.default,
                     aten.median.default, aten.median.dim, aten.mode.default):  # fmt: skip
        lowering.lowerings[operator] = _sorting(operator, lowering.lowerings[operator])


def _sorting(operator: Any, own: Callable[..., Any]) -> Callable[..., Any]:
    names = [one.name for one in operator._schema.arguments]

    def called(x: Any, *args: Any, **named: Any) -> Any:
        sides = x.get_size()
        given = dict(zip(names[1:], args, strict=False)) | named
        row = sides[given.get("dim", -1)] if sides and "dim" in names else x.get_numel()
        with config.patch({"triton.decompose_sort_ops": value_of(row) <= MOST_SORTED}):
            return own(x, *args, **named)

    return called
