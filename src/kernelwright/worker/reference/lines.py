"""Input distributions that change whole lines of a tensor: rows or slices of zeros, equal or tiny values; also ties.

The functions change float tensors of real-valued data, in which zeros stay, and infinities and NaN where they may have
an order. `may_permute_rows` says whether the rows of a mask have one. The other distributions are in `values`.
"""

from __future__ import annotations

import torch
from torch import Tensor

KINDS = ("zero", 30, "equal", None, 10, 20, None, None)
"""The change to a line: "zero" fills it with zeros, "equal" with one value, a number n divides it by 2^n, None leaves
it. Each entry applies to one of eight lines, chosen at random; with fewer than eight lines the first entries apply."""

HALF_EXPONENTS = {10: 4, 20: 6, 30: 8}
"""The numbers n used instead in float16, whose smallest normal number is 2^-14."""

EQUAL_BITS = 4
"""Mantissa bits of the value that fills an "equal" line. With few bits, its sums and squares are exact and its variance
is exactly 0."""

LEVELS = 5
"""How many different values a tensor with ties has. With few, the maximum of most rows occurs several times."""


def redraw(tensor: Tensor, generator: torch.Generator, last: bool) -> None:
    """Change lines of `tensor` in place; zeros stay zero. last: lines are vectors along the last dimension; otherwise
    they are slices with one index in the first dimension."""
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
    special = ~lines.isfinite()
    if not bool(special.any()):
        made = torch.where(equal, _coarse(lines[:, :1]), lines * factor)
    else:
        usual = lines.where(~special, lines[~special & (lines != 0)][:1])
        made = torch.where(equal, _coarse(usual[:, :1]), usual * factor)
        made = _with_fewer(lines, made, special, (factor[:, 0] > 0) & (factor[:, 0] < 1), equal.any(1), generator)
    tensor.copy_(made.reshape(tensor.shape))


def _with_fewer(
    lines: Tensor, made: Tensor, special: Tensor, tiny: Tensor, equal: Tensor, generator: torch.Generator
) -> Tensor:  # fmt: skip
    """`made` with infinities and NaN of `lines`: tiny lines have one, at a random place of the middle half, and lines
    of zeros and of equal values none. All have their own where these may have an order, and where minus infinity alone
    marks what is masked."""
    is_data = bool((lines.isnan() | lines.isposinf()).any()) and may_permute_rows(special)
    if not is_data:
        return torch.where(special, lines, made)
    count, size = lines.shape
    found = lines[special]
    which, place = (torch.randint(most, (count,), generator=generator, device=lines.device)
                    for most in (len(found), max(1, size // 2)))  # fmt: skip
    place += size // 4
    single = tiny[:, None] & (torch.arange(size, device=lines.device) == place[:, None])
    none = tiny | equal | (made == 0).all(1)
    return torch.where(single, found[which][:, None], torch.where(special & ~none[:, None], lines, made))


def sign(tensor: Tensor, generator: torch.Generator) -> None:
    """Make a third of the rows of `tensor` positive and a third negative, in place, if it has values of both signs. Of
    less than three rows, none is changed."""
    if tensor.dim() < 2 or not bool((tensor < 0).any() and (tensor > 0).any()):
        return
    rows = tensor.shape[:-1]
    order = torch.randperm(rows.numel(), generator=generator, device=tensor.device).view(*rows, 1)
    count = rows.numel() // 3
    sizes = tensor.abs()
    tensor.copy_(torch.where(order < count, sizes, torch.where(order < 2 * count, -sizes, tensor)))


def mask(tensor: Tensor, generator: torch.Generator, last: bool, throughout: bool = False) -> None:
    """Put minus infinity into the first three quarters of every second line, in place: whole blocks of a long line have
    nothing else. Zeros and lines of fewer than four elements stay. last: lines lie along the last dimension; otherwise
    along the one before it. throughout: one in sixteen lines, and at least one, has nothing else."""
    if tensor.dim() < (1 if last else 2):
        return
    lines = tensor if last else tensor.mT
    size = lines.shape[-1]
    if size >= 4:
        count = lines.numel() // size
        order = torch.randperm(count, generator=generator, device=tensor.device).view(*lines.shape[:-1], 1)
        hidden = (order % 2 == 0) & (torch.arange(size, device=tensor.device) < size * 3 // 4)
        hidden |= (order % 16 == 0) & throughout
        lines.copy_(torch.where(hidden & (lines != 0), -torch.inf, lines))


def _coarse(values: Tensor) -> Tensor:
    """`values` rounded to EQUAL_BITS mantissa bits, with 0.5 in place of zero, and the next value toward zero in place
    of a whole number. The judge takes a mean that is a whole number for exact; a GPU's division may be off there."""
    mantissa, exponent = torch.frexp(values.float())
    mantissa = (mantissa * 2**EQUAL_BITS).round() / 2**EQUAL_BITS
    coarse = torch.ldexp(mantissa, exponent)
    mantissa, exponent = torch.frexp(coarse)
    step = torch.where(mantissa.abs() == 0.5, 0.5, 1.0) / 2**EQUAL_BITS
    smaller = torch.ldexp(mantissa - step * mantissa.sign(), exponent)
    coarse = torch.where(coarse == coarse.round(), smaller, coarse)
    return torch.where(coarse == 0, 0.5, coarse).to(values.dtype)


def nearest(values: Tensor, sample: Tensor) -> Tensor:
    """Each value rounded to the nearest of LEVELS levels. Levels are values of `sample`, so ties have ordinary bits."""
    ordered = sample.sort().values
    middles = (torch.arange(LEVELS, device=sample.device) + 0.5) / LEVELS  # middles of equal shares of `ordered`
    levels = ordered[(middles * len(ordered)).long()].to(values.dtype)
    between = (levels[1:] + levels[:-1]) / 2
    return levels[torch.bucketize(values.contiguous(), between)]


def is_mask(tensor: Tensor) -> bool:
    """Whether a tensor is boolean, or holds both zeros and ones and nothing else."""
    if tensor.dtype == torch.bool:
        return True
    return (
        tensor.numel() > 1
        and bool(((tensor == 0) | (tensor == 1)).all())
        and bool((tensor != tensor.flatten()[0]).any())
    )


def are_shares(tensor: Tensor) -> bool:
    """Whether a tensor holds values from 0 to 1, with both: weights of a mean, whose ends have a meaning."""
    return bool(tensor.numel()) and float(tensor.min()) == 0 and float(tensor.max()) == 1


def may_permute_rows(mask: Tensor) -> bool:
    """Whether the rows of a mask have no order to keep.

    A square mask may be causal, so its rows have an order. So have those of a mask in which the count of ones per row
    (of a vector: the elements) only rises or only falls, as in masks of lengths and bands.
    """
    if mask.dim() >= 2 and mask.shape[-1] == mask.shape[-2]:
        return False
    ones = mask.reshape(len(mask), -1).long().sum(dim=1)
    steps = ones.diff()
    same = mask.dim() >= 2 and not bool(steps.any())  # one-hot rows, for example
    return len(mask) > 1 and (same or bool((steps > 0).any() and (steps < 0).any()))
