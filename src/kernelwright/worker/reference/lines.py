"""Lines of a tensor in a draw: rows or slices of zeros, of equal and of tiny values; ties; the rows of a mask.

Everything here changes float tensors that hold real-valued data, or says of masks whether their rows have an order. The
other distributions are in `values`.
"""

from __future__ import annotations

import torch
from torch import Tensor

KINDS = ("zero", 20, "equal", None, 10, 30, None, None)
"""What becomes of every eighth line: zeros, equal values, values divided by a power of two, or nothing. In this order
where there are fewer lines."""

HALF_EXPONENTS = {10: 4, 20: 6, 30: 8}
"""The powers in float16, whose smallest normal number is 2^-14."""

EQUAL_BITS = 4
"""Bits of the value that fills a line: few, so that sums and squares of it are exact, and a variance is exactly 0."""

LEVELS = 5
"""Different values in a tensor with ties: so few that most rows hold their largest several times."""


def redraw(tensor: Tensor, generator: torch.Generator, last: bool) -> None:
    """Change lines of `tensor` in place; zeros stay. last: a line is a vector along the last dimension, else everything
    of one index in the first."""
    if last:
        lines = tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() else tensor.reshape(1, 1)
    elif tensor.dim() >= 2:
        lines = tensor.reshape(tensor.shape[0], -1)
    else:
        return
    count = len(lines)
    kinds = torch.arange(count, device=tensor.device) % len(KINDS)
    kinds = kinds[torch.randperm(count, generator=generator, device=tensor.device)]
    factor = torch.ones(count, 1, dtype=tensor.dtype, device=tensor.device)
    for kind, what in enumerate(KINDS):
        if isinstance(what, int):
            factor[kinds == kind] = 2.0 ** -(HALF_EXPONENTS[what] if tensor.dtype == torch.float16 else what)
        elif what == "zero":
            factor[kinds == kind] = 0.0
    equal = (kinds == KINDS.index("equal"))[:, None] & (lines != 0)
    made = torch.where(equal, _coarse(lines[:, :1]), lines * factor)
    tensor.copy_(made.reshape(tensor.shape))


def _coarse(values: Tensor) -> Tensor:
    """Values of few bits; a half for zero."""
    mantissa, exponent = torch.frexp(values.float())
    coarse = torch.ldexp((mantissa * 2**EQUAL_BITS).round() / 2**EQUAL_BITS, exponent)
    return torch.where(coarse == 0, 0.5, coarse).to(values.dtype)


def nearest(values: Tensor, sample: Tensor) -> Tensor:
    """The next of a few levels for each value; levels are values of `sample`, so that ties have ordinary bits."""
    ordered = sample.sort().values
    middles = (torch.arange(LEVELS, device=sample.device) + 0.5) / LEVELS  # of equal shares of the values
    levels = ordered[(middles * len(ordered)).long()].to(values.dtype)
    between = (levels[1:] + levels[:-1]) / 2
    return levels[torch.bucketize(values.contiguous(), between)]


def is_mask(tensor: Tensor) -> bool:
    """Whether it holds both zeros and ones and nothing else, as booleans or as numbers."""
    if tensor.dtype == torch.bool:
        return True
    return (
        tensor.numel() > 1
        and bool(((tensor == 0) | (tensor == 1)).all())
        and bool((tensor != tensor.flatten()[0]).any())
    )


def may_permute_rows(mask: Tensor) -> bool:
    """Not those of a square, which may be causal; nor where the ones in a row (or, of a vector, the elements) are in
    ascending or descending order, as those of lengths and bands are."""
    if mask.dim() >= 2 and mask.shape[-1] == mask.shape[-2]:
        return False
    ones = mask.reshape(len(mask), -1).long().sum(dim=1)
    steps = ones.diff()
    same = mask.dim() >= 2 and not bool(steps.any())  # one-hot rows, for example
    return len(mask) > 1 and (same or bool((steps > 0).any() and (steps < 0).any()))
