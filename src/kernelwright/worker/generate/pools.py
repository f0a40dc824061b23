"""Average pools decomposed for Inductor: large windows are pooled along one dimension after the other.

Inductor leaves windows of over 25 elements to the framework, whose kernel reads each element once for every window. For
pools with padding, Inductor also computes the number of elements in each window. If padding counts, this number is the
same for all windows, so the decomposition states it as a constant divisor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

MOST_ELEMENTS = 25
"""The largest window for which Inductor generates code: `torch/_inductor/lowering.py`, `_avg_poolnd`."""


def _along_sides(pool: Callable[..., Tensor], sides: int) -> Callable[..., Any]:
    """The decomposition of `pool`. It returns NotImplemented for pools that stay as they are, and for pools whose
    windows differ in the number of elements that count."""

    def decomposed(
        x: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        window, steps, added = _each(kernel_size, sides), _each(stride or kernel_size, sides), _each(padding, sides)
        is_mean = divisor_override is None and not ceil_mode and (count_include_pad or not any(added))
        if max(window) > MOST_ELEMENTS or not is_mean:
            return NotImplemented
        if (elements := math.prod(window)) <= MOST_ELEMENTS:
            return pool(x, window, steps, added, False, True, elements) if any(added) else NotImplemented
        one, none = [1] * sides, [0] * sides
        for side in reversed(range(sides)):
            x = pool(
                x, _at(one, side, window), _at(one, side, steps), _at(none, side, added), False, True, window[side]
            )
        return x

    return decomposed


def _each(values: Sequence[int], sides: int) -> list[int]:
    return list(values) * sides if len(values) == 1 else list(values)


def _at(others: list[int], side: int, values: Sequence[int]) -> list[int]:
    return [*others[:side], values[side], *others[side + 1 :]]


POOLS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.avg_pool2d.default: _along_sides(torch.ops.aten.avg_pool2d.default, 2),
    torch.ops.aten.avg_pool3d.default: _along_sides(torch.ops.aten.avg_pool3d.default, 3),
}
