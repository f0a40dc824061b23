"""Decompositions of operators over windows: average pools, and depthwise convolutions.

Inductor leaves pools with windows of over 25 elements to the framework, whose kernel reads each element once for every
window. They are pooled along one dimension after the other. For pools with padding, Inductor also computes the number
of elements in each window. If padding counts, this number is the same for all windows, so it is stated as a constant
divisor.

Depthwise convolutions have no matrix product for the tensor cores, and the library is slow at them: on an H200, a
kernel that reads x once takes a quarter of the library's time (gallery/depthwise_conv2d). They become sums of shifted
inputs, which Inductor fuses with the operators around them.

So do overlapping windows that are added up (`istft`, the gradient of `unfold`): torch's own decomposition has an
operator for each element of a window where the number of windows is a symbol.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

aten = torch.ops.aten

MOST_ELEMENTS = 25
"""The largest window for which Inductor generates code: `torch/_inductor/lowering.py`, `_avg_poolnd`. Each element is
one load per output."""


def _along_sides(pool: Callable[..., Tensor], sides: int) -> Callable[..., Any]:
    """The decomposition of `pool`. It returns NotImplemented for pools that stay as they are, and for pools whose
    windows differ in the number of elements that count."""

    def each(values: Sequence[int]) -> list[int]:
        return list(values) * sides if len(values) == 1 else list(values)

    def decomposed(
        x: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        window, steps, added = each(kernel_size), each(stride or kernel_size), each(padding)
        is_mean = divisor_override is None and not ceil_mode and (count_include_pad or not any(added))
        if max(window) > MOST_ELEMENTS or not is_mean:
            return NotImplemented
        if (elements := math.prod(window)) <= MOST_ELEMENTS:
            return pool(x, window, steps, added, False, True, elements) if any(added) else NotImplemented
        for side in reversed(range(sides)):
            along = (
                [values[side] if place == side else other for place in range(sides)]
                for values, other in ((window, 1), (steps, 1), (added, 0))
            )
            x = pool(x, *along, False, True, window[side])
        return x

    return decomposed


def depthwise(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> Any:  # fmt: skip
    """The decomposition of `aten.convolution`; NotImplemented for transposed convolutions, for output channels that
    read several input channels, and for windows of more than MOST_ELEMENTS."""
    window, sides = tuple(map(int, weight.shape[2:])), weight.dim() - 2
    if transposed or tuple(weight.shape[:2]) != (groups, 1) or math.prod(window) > MOST_ELEMENTS:
        return NotImplemented
    # They may follow from the window, which became a number here.
    stride, padding, dilation = (tuple(map(int, one)) for one in (stride, padding, dilation))
    if any(padding):
        x = pad(x, [one for added in reversed(padding) for one in (added, added)])
    for side in range(sides):  # so that a symbol stands for each side of the output before slices are taken
        (x.shape[2 + side] - dilation[side] * (window[side] - 1) - 1) // stride[side]
    taps = weight.flatten(1).unbind(1)  # indexing would need the device
    total = None
    for number, tap in enumerate(itertools.product(*map(range, window))):
        part = x
        for side, at in enumerate(tap):
            last = x.shape[2 + side] - dilation[side] * (window[side] - 1 - at)
            part = aten.slice(part, 2 + side, dilation[side] * at, last, stride[side])
        term = part * taps[number].view(-1, *[1] * sides)
        total = term if total is None else total + term
    return total if bias is None or total is None else total + bias.view(-1, *[1] * sides)


def added_up(windows: Tensor, input_size: Sequence[Any], dimension: int, size: int, step: int) -> Tensor:
    """The decomposition of `aten.unfold_backward`: the windows in parts of `step` elements, each part with those of the
    windows before that lie on it."""
    if not input_size:
        return windows.squeeze(0).clone()
    dim, parts = dimension % len(input_size), math.ceil(size / step)
    x = pad(windows.movedim(dim, -2), (0, parts * step - size)).unflatten(-1, (parts, step))
    total = sum(pad(x.select(-2, part), (0, 0, part, parts - 1 - part)) for part in range(parts))
    assert isinstance(total, Tensor)
    left = input_size[dim] - (windows.shape[dim] + parts - 1) * step
    return pad(total.flatten(-2), (0, left)).movedim(-1, dim).contiguous()


WINDOWS: dict[Any, Callable[..., Any]] = {
    aten.avg_pool2d.default: _along_sides(aten.avg_pool2d.default, 2),
    aten.avg_pool3d.default: _along_sides(aten.avg_pool3d.default, 3),
    aten.convolution.default: depthwise,
    aten.unfold_backward.default: added_up,
}
