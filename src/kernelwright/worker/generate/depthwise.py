"""Depthwise convolutions as sums of shifted inputs, which Inductor fuses with the operators around them.

Such convolutions have no matrix product for the tensor cores, and the library is slow at them: on an H200, a kernel
that reads x once takes a quarter of the library's time (gallery/depthwise_conv2d).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

MOST_ELEMENTS = 25
"""Limit on the elements of a window: each is one load per output. The same as Inductor's limit for a pool."""


def depthwise(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> Any:  # fmt: skip
    """The decomposition of `aten.convolution`; NotImplemented for transposed convolutions, for output channels that
    read several input channels, and for windows of more than MOST_ELEMENTS."""
    window, sides = tuple(map(int, weight.shape[2:])), weight.dim() - 2
    if transposed or tuple(weight.shape[:2]) != (groups, 1) or math.prod(window) > MOST_ELEMENTS:
        return NotImplemented
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
            part = torch.ops.aten.slice(part, 2 + side, dilation[side] * at, last, stride[side])
        term = part * taps[number].view(-1, *[1] * sides)
        total = term if total is None else total + term
    return total if bias is None or total is None else total + bias.view(-1, *[1] * sides)


DEPTHWISE: dict[Any, Callable[..., Any]] = {torch.ops.aten.convolution.default: depthwise}
