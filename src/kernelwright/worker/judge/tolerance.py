"""When are two outputs equal? Derived from arithmetic, not from a constant.

The reference is computed in float64. A candidate's error, relative to the output's scale, may be at most a stated
multiple of the framework's own error in the problem's dtype, with a floor of a few ulp that grows with the square root
of the number of terms that are summed (`terms`), and with what rounding of the inputs moves. In float64 itself the
framework's error is that of float32 times the ratio of the two precisions. The scale is that of an output over several
draws: a single number may cancel in one of them, and the errors of the terms that were summed do not. Where the
framework is exact, so must the candidate be. Whole numbers have to be equal; where rounding changes those of the
framework (quantised values, the place of a maximum), each may be as float64 or as the framework has it. NaN never
passes unless the reference has it at the same place; on inputs that were made to hold NaN and infinities, what the
reference answers with NaN is left open, and everything else has to be as the reference has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

MULTIPLES = {
    torch.float64: (16.0, 8.0),
    torch.float32: (16.0, 8.0),
    torch.bfloat16: (4.0, 2.0),
    torch.float16: (4.0, 2.0),
}
"""(largest, root mean square) error allowed, as multiples of the framework's own. Measured on an H200: honest fp32
kernels reach 2.1, a sequential sum of 4096 terms 8, tf32 or fp16 operands over 800: not a delicate choice."""

ROUNDED_FACTORS = (4.0, 2.0)
"""The same where the framework rounds the factors of float32 products to TF32, as half precision does."""

WIDEST = (torch.float64, torch.complex128)
"""Nothing wider says how far the framework is off, so it is never known to be exact."""

NEARLY_INFINITE = 2.0**-14
"""Share of a dtype's largest number: a thousandth over one of the denormals that are drawn is more."""

SMALLER = 16.0
"""An output may be off by what rounding makes of its usual size, where it is at most this many times smaller: honest
kernels compute tanh(x) as 2 sigmoid(2x) - 1, and log1p(x) as log(1 + x)."""

MOST_TERMS = 1 << 16
"""Terms up to which the floor grows: kernels share longer sums among blocks, and add the partial sums of these."""

CHUNK = 1 << 26
"""Elements compared at a time, so that a 4 GB output needs 1 GB of scratch and not 30."""


@dataclass(frozen=True)
class Scale:
    """How large an output is: its largest finite absolute value, and its root mean square."""

    largest: float
    rms: float


@dataclass(frozen=True)
class Errors:
    """Largest and rms error. scale: what they are relative to. worst: index and values of the worst element. special:
    NaN or infinity where the reference has none, or the reverse. finite: share of the expected elements that are.
    moved: how far elements move per relative change of all inputs and parameters, where that was asked for."""

    max_abs: float
    rms_abs: float
    scale: Scale
    worst: str
    special: bool
    finite: float = 1.0
    moved: Scale = Scale(0.0, 0.0)

    @property
    def max_rel(self) -> float:
        return _relative(self.max_abs, self.scale.largest)

    @property
    def rms_rel(self) -> float:
        return _relative(self.rms_abs, self.scale.rms)

    def against(self, scale: Scale) -> Errors:
        """The same errors relative to another scale."""
        return replace(self, scale=scale)


@dataclass(frozen=True)
class Allowed:
    """Largest permitted errors relative to `scale`; exact: bitwise equality to the framework's result. whole: because
    these are integers or booleans."""

    max_rel: float
    rms_rel: float
    exact: bool
    scale: Scale
    whole: bool = False


def errors(
    actual: torch.Tensor, expected: torch.Tensor, lenient: bool = False, also: Sequence[torch.Tensor] = ()
) -> Errors:
    """Compare `actual` to `expected` (higher precision, same shape), element by element.

    lenient: the inputs hold NaN or infinities on purpose. Then anything goes where NaN is expected (maxima that drop a
    NaN are common and honest), and NaN for infinity (as splitting a float into parts gives); a finite value where
    infinity is expected, infinity of the other sign, or NaN where the reference is finite never passes. Infinity in
    place of nearly as much does: x * (1 / y) overflows for a denormal y where x / y just does not. On any inputs,
    infinity passes where the expected number is more than `actual`'s dtype holds.
    also: of whole numbers, what is as right as `expected`, element by element.
    """
    if actual.is_complex() and expected.is_complex():  # real and imaginary part are two numbers, each to be right
        actual, expected = torch.view_as_real(actual.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    a, e = actual.reshape(-1), expected.reshape(-1)
    scale, total, count, max_abs, worst, special = 0.0, 0.0, 0, 0.0, "", False
    squares, finites = 0.0, 0
    for start in range(0, a.numel(), CHUNK):
        got, wanted = a[start : start + CHUNK], e[start : start + CHUNK]
        for other in also:
            wanted = torch.where(got == other.reshape(-1)[start : start + CHUNK], got, wanted)
        x, y = got.double(), wanted.double()
        finite = torch.isfinite(y)
        agreed = (x == y) | (y.isnan() | x.isnan() if lenient else x.isnan() & y.isnan())
        bounded = torch.isfinite(x)
        if a.is_floating_point():
            largest_finite = torch.finfo(a.dtype).max * (NEARLY_INFINITE if lenient else 1.0)
            bounded |= x.isinf() & (x.sign() == y.sign()) & (y.abs() > largest_finite)
        same = torch.where(finite, bounded, agreed)
        finites += int(finite.sum())
        if not special and not bool(same.all()):
            special = True
            at = int((~same).nonzero()[0])
            worst = describe(actual, start + at, float(x[at]), float(y[at]))
        difference = torch.where(finite & torch.isfinite(x), (x - y).abs(), 0.0)
        if not (a.is_floating_point() or e.is_floating_point()):  # beyond 2**53 neighbours are one in float64
            difference = torch.where(got != wanted, difference.clamp(min=1.0), 0.0)
        y = torch.where(finite, y, 0.0)
        scale = max(scale, float(y.abs().max()))
        total += float((y * y).sum())
        squares += float((difference * difference).sum())
        count += x.numel()
        largest = float(difference.max())
        if largest > max_abs:
            max_abs = largest
            if not special:
                at = int(difference.argmax())
                worst = describe(actual, start + at, float(x[at]), float(y[at]))
                others = {float(other.reshape(-1)[start + at]) for other in also} - {float(y[at])}
                worst += "".join(f" or {other:.6g}" for other in sorted(others))
    elements = max(count, 1)
    return Errors(
        max_abs=max_abs, rms_abs=math.sqrt(squares / elements), scale=Scale(scale, math.sqrt(total / elements)),
        worst=worst, special=special, finite=finites / count if count else 1.0,
    )  # fmt: skip


def _relative(error: float, scale: float) -> float:
    return error / scale if scale else (math.inf if error else 0.0)


def describe(tensor: torch.Tensor, flat: int, got: float, wanted: float) -> str:
    """One element in words, such as "at (0, 17) got 1.5, expected 1.25"."""
    index = []
    for size in reversed(tensor.shape):
        index.append(flat % size)
        flat //= size
    return f"at {tuple(reversed(index))} got {got:.6g}, expected {wanted:.6g}"


def real(dtype: torch.dtype) -> torch.dtype:
    """The dtype of each part of a complex number, any other as it is."""
    return dtype.to_real() if dtype.is_complex else dtype


def is_whole(dtype: torch.dtype) -> bool:
    """Whether these are integers or booleans."""
    return not (dtype.is_floating_point or dtype.is_complex)


def is_exact(own: list[Errors]) -> bool:
    """Whether the framework rounded nothing."""
    return all(e.max_abs == 0.0 and not e.special for e in own)


def allowed(
    own: list[Errors], dtype: torch.dtype, terms: float, exact: bool | None = None, usual: Scale | None = None,
    multiples: tuple[float, float] | None = None,
) -> Allowed:  # fmt: skip
    """What a candidate may deviate. own: the framework's errors, one per draw; terms: summed into one element. usual:
    the output's scale on the problem's own inputs. multiples: in place of MULTIPLES.

    exact: whether equality is asked for; None: where `own` is exact. On inputs of an odd distribution a sum may be
    exact by chance, and then only the problem's own inputs can say whether it always is.
    """
    known = dtype not in WIDEST
    dtype = real(dtype)
    scale = Scale(max(e.scale.largest for e in own), max(e.scale.rms for e in own))
    if is_whole(dtype) or (known and (is_exact(own) if exact is None else exact and is_exact(own))):
        return Allowed(max_rel=0.0, rms_rel=0.0, exact=True, scale=scale, whole=is_whole(dtype))
    largest, rms = multiples or MULTIPLES.get(dtype, (2.0, 2.0))
    # Accumulation in fp32, of fp64 in fp64: the rounding errors of n terms add up like a random walk (Higham, "Accuracy
    # and Stability of Numerical Algorithms", 2nd ed., section 2.8)
    ulp = torch.finfo(dtype).eps
    computed = min(torch.finfo(torch.float32).eps, ulp)
    accumulated = computed * math.sqrt(min(max(terms, 1.0), MOST_TERMS))
    usual = usual or scale
    moved = max(_relative(e.moved.largest, scale.largest) for e in own) + _larger(usual.largest, scale.largest)
    moved_rms = max(_relative(e.moved.rms, scale.rms) for e in own) + _larger(usual.rms, scale.rms)
    return Allowed(
        max_rel=max(largest * max(e.against(scale).max_rel for e in own), ulp + 4 * (accumulated + computed * moved)),
        rms_rel=max(
            rms * max(e.against(scale).rms_rel for e in own), ulp / 2 + 4 * (accumulated + computed * moved_rms)
        ),
        exact=False,
        scale=scale,
    )


def _larger(usual: float, scale: float) -> float:
    """How many times larger an output usually is, at most SMALLER; 0 where it is not."""
    return 0.0 if usual <= scale else min(_relative(usual, scale), SMALLER)


def excess(found: Errors, limit: Allowed) -> float:
    """How many times over the tolerance `found` is; at most 1 passes, infinity where no multiple would do."""
    found = found.against(limit.scale)
    if found.special or (limit.exact and found.max_abs):
        return math.inf
    if limit.exact:
        return 0.0
    return max(found.max_rel / limit.max_rel, found.rms_rel / limit.rms_rel)


def verdict(found: Errors, limit: Allowed) -> str:
    """Why `found` does not pass, or "" when it does."""
    found = found.against(limit.scale)
    if found.special:
        return f"NaN or infinity where the reference has none (or the reverse): {found.worst}"
    if limit.exact:
        why = "whole numbers have to be equal," if limit.whole else "the framework's result is exact here"
        return f"{why} and this differs: {found.worst}" if found.max_abs else ""
    if not found.max_rel <= limit.max_rel:
        return (f"the largest error is {found.max_rel:.3g} of the output's scale, at most {limit.max_rel:.3g} is "
                f"allowed: {found.worst}")  # fmt: skip
    if not found.rms_rel <= limit.rms_rel:
        return f"the rms error is {found.rms_rel:.3g} of the output's rms, at most {limit.rms_rel:.3g} is allowed"
    return ""
