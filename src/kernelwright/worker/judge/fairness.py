"""Which elements of a draw judge a candidate. The limits are fixed before any candidate is seen.

On the problem's own inputs every element does. On others an element is left out where PyTorch's own result is no guide,
and where a reading (`rounding`: a way in which honest kernels compute the reference) is further off than the tolerance
that PyTorch's error sets. A draw that would leave out many elements is replaced by a milder one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from kernelwright.worker.judge import tolerance

MOST_LEFT_OUT = 0.05
"""Largest share of an output's elements that all draws of a case together may leave out, and most draws by themselves;
those of `values.LENIENT` share what the others leave of it."""

LEAST_DRAWS = 0.5
"""Least share of a case's draws that have to judge each element."""

LEAST_FINITE = 0.5
"""The least share of finite expected outputs. With fewer, a comparison says little, and the draw is not usable."""

HEADROOM = 0.5
"""Limit on expected values, as a share of the dtype's largest number. Above it, a rounding error may give infinity."""


def is_guide(own: tolerance.Errors, dtype: torch.dtype, strict: bool) -> bool:
    """Whether PyTorch's own result is one for every element. own: its errors. strict: whether it has to be right in
    half of its digits."""
    if own.special or (own.scale.largest > HEADROOM * _largest(dtype)):
        return False
    return not strict or (own.max_abs == 0.0 if tolerance.is_whole(dtype) else own.max_rel <= half_of_digits(dtype))


def left_out(
    made: Tensor, exact: Tensor, own: tolerance.Errors, beyond: Tensor | None, strict: bool, lenient: bool
) -> Tensor | None:  # fmt: skip
    """The elements of an output that judge nothing: those without a guide, and those `beyond`; None if each judges."""
    return either(None if is_guide(own, made.dtype, strict) else unguided(made, exact, strict, lenient), beyond)


def either(*masks: Tensor | None) -> Tensor | None:
    """The elements that one of the masks has; None if there are none."""
    found = [mask for mask in masks if mask is not None and bool(mask.any())]
    return functools.reduce(torch.logical_or, found) if found else None


def unguided(made: Tensor, exact: Tensor, strict: bool, lenient: bool) -> Tensor:
    """The elements for which PyTorch's own result is no guide: another NaN or infinity than in float64, a number near
    the dtype's largest, or (strict) one without half of its digits. made, exact: PyTorch's output and float64's.
    lenient: as in `tolerance.errors`."""
    if made.is_complex():
        parts = torch.view_as_real(made.resolve_conj()), torch.view_as_real(exact.resolve_conj())
        return unguided(*parts, strict, lenient).any(-1)
    if tolerance.is_whole(made.dtype):
        return (made != exact) & strict
    dtype, made, sizes = made.dtype, made.to(exact.dtype), exact.abs()
    found = ~tolerance.right_beyond(made, exact, lenient)
    found |= exact.isfinite() & (sizes > HEADROOM * _largest(dtype))
    sizes = sizes.where(exact.isfinite() & ~found, 0.0)
    if strict and sizes.numel():
        found |= (made - exact).abs() > half_of_digits(dtype) * sizes.amax()
    return found


def _largest(dtype: torch.dtype) -> float:
    return torch.inf if tolerance.is_quantized(dtype) else torch.finfo(dtype).max


def half_of_digits(dtype: torch.dtype) -> float:
    return math.sqrt(torch.finfo(dtype).eps)


def share_of(left_out: Sequence[Tensor | None]) -> float:
    """The largest share of an output that is left out."""
    return max((float(one.double().mean()) for one in left_out if one is not None and one.numel()), default=0.0)


def without(value: Tensor, left_out: Tensor | None) -> Tensor:
    """`value` with 0 at the elements that are left out."""
    return value if left_out is None else torch.where(left_out, torch.zeros_like(value), value)


def with_nan(left_out: Sequence[Tensor | None], expected: Sequence[Tensor]) -> list[Tensor | None]:
    """The elements of a draw that judge nothing: those left out, and those where NaN is expected, as any value agrees
    with it on inputs with infinities."""
    return [either(mask, value.isnan()) for mask, value in zip(left_out, expected, strict=True)]


def rarely_judged(draws: Sequence[Sequence[Tensor | None]]) -> dict[int, str]:
    """The outputs that too few draws judge, with what is lacking, in words: elements that fewer than LEAST_DRAWS of the
    draws judge, or more than MOST_LEFT_OUT of all. draws: what each leaves out of each output."""
    found: dict[int, str] = {}
    for output in range(len(draws[0])):
        masks = [one for each in draws if (one := each[output]) is not None]
        missed = sum((mask.int() for mask in masks), start=torch.zeros(())).double()
        if rare := float((missed > len(draws) * (1 - LEAST_DRAWS)).double().mean()) if masks else 0.0:
            found[output] = f"{rare:.1%} of it is judged by less than half of the draws"
        elif masks and (share := float(missed.mean()) / len(draws)) > MOST_LEFT_OUT:
            found[output] = f"{share:.1%} of it is left out over all draws, and at most {MOST_LEFT_OUT:.0%} may be"
    return found
