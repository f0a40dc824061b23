"""The tolerance for outputs, from the framework's own error and not from a fixed constant (docs/evaluation.md, "Whole
outputs" and "Whole numbers and float8").

In float64 itself the framework's error is its float32 error times the ratio of the two precisions. NaN passes only
where the reference has NaN too, but for lenient draws (`errors`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from kernelwright.worker.reference.instance import HALF, is_float8
from kernelwright.worker.reference.pieces import CHUNK

MULTIPLES = {
    torch.float64: (16.0, 8.0),
    torch.float32: (16.0, 8.0),
    torch.bfloat16: (4.0, 2.0),
    torch.float16: (4.0, 2.0),
}
"""The allowed (largest, root mean square) error, as multiples of the framework's own. Measured on an H200: honest fp32
kernels reach 2.1, a sequential sum of 4096 terms 8, tf32 or fp16 operands over 800. So the exact choice matters little.
"""

ROUNDED_FACTORS = (4.0, 2.0)
"""The multiples if the framework rounds the factors of float32 products to TF32; the same as for half precision."""

MOST_RMS = dict.fromkeys(HALF, 2.0**-6)
"""Limit on the multiple of the framework's own rms error on the problem's own inputs, relative to the output's rms. An
output rounded to three bits is off by 0.024 (an error of up to a sixteenth, of values evenly spread between two powers
of two). Chains of roundings in half precision may be off by more: what PyTorch's own chain gives is right then, too."""

WIDEST = (torch.float64, torch.complex128)
"""Dtypes without a wider one to compare with, so the framework is never known to be exact in them."""

NEARLY_INFINITE = 2.0**-14
"""Share of a dtype's largest number above which infinity passes on lenient draws: a thousandth divided by one of the
denormals in such a draw is larger."""

SMALLER = 16.0
"""On a draw whose output is smaller than usual, the floor allows rounding errors of the usual size, up to this ratio of
the two: honest kernels compute tanh(x) as 2 sigmoid(2x) - 1, and log1p(x) as log(1 + x)."""

FLUSHED = torch.finfo(torch.float32).smallest_normal
"""The largest error where the framework is exact: arithmetic on GPUs may take float32's denormals for 0."""

MOST_TERMS = 1 << 16
"""Limit on the terms for which the floor grows: kernels split longer sums into blocks and add the partial sums."""


@dataclass(frozen=True)
class Scale:
    """The size of an output: its largest finite absolute value, and the root mean square of its finite elements."""

    largest: float
    rms: float


@dataclass(frozen=True)
class Errors:
    """The largest and the rms error of an output. scale: of the expected output, for relative errors. worst: index and
    values of the worst element. special: NaN or infinity where the reference has none, or the reverse. finite: share
    of the expected elements that are finite. moved: how far elements move per relative change of all inputs and
    parameters, if measured."""

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
    """The tolerance: the largest allowed errors, relative to `scale`. exact: no error is allowed. quantized: none is
    allowed because these are whole numbers or float8. most_rms: the largest rms error where rounding explains each
    element's."""

    max_rel: float
    rms_rel: float
    exact: bool
    scale: Scale
    quantized: bool = False
    most_rms: float = math.inf


def errors(
    actual: torch.Tensor, expected: torch.Tensor, lenient: bool = False, also: Sequence[torch.Tensor] = (),
    scale: Scale | None = None,
) -> Errors:  # fmt: skip
    """Compare `actual` to `expected` (higher precision, same shape), element by element.

    lenient: the inputs are of `values.LENIENT`. Then any value passes where NaN is expected (maxima that drop
    a NaN are common and honest), and NaN passes where infinity is expected (splitting a float into parts gives that).
    Infinity passes where nearly as much is expected: x * (1 / y) overflows for a denormal y where x / y just does not.
    A finite value where infinity is expected, infinity of the other sign, and NaN where the reference is finite never
    pass. On any inputs, infinity passes where the expected number is larger than `actual`'s dtype holds.
    also: for whole numbers, other right results besides `expected`, element by element; for other dtypes, the least and
    the largest right value.
    scale: the scale of the result; None: that of `expected`, for which it is read twice more.
    """
    if actual.is_complex() and expected.is_complex():  # real and imaginary parts are compared separately
        actual, expected = torch.view_as_real(actual.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    a, e = actual.reshape(-1), expected.reshape(-1)
    others = [other.reshape(-1) for other in also]
    within = actual.is_floating_point()
    a = a.to(e.dtype) if is_float8(a.dtype) else a  # PyTorch compares no float8
    largest, total, count, max_abs, worst, special = 0.0, 0.0, 0, 0.0, "", False
    squares, finites = 0.0, 0
    for start in range(0, a.numel(), CHUNK):
        piece = slice(start, start + CHUNK)
        got = a[piece]
        wanted = _nearest(got, e[piece], [other[piece] for other in others], within)
        difference, finite = _apart(got, wanted), None
        furthest = _largest(difference)
        if not math.isfinite(furthest):
            finite, right = torch.isfinite(wanted), right_beyond(got, wanted, lenient)
            difference = torch.where(finite & torch.isfinite(got), difference, 0.0)
            furthest = _largest(difference)
            if not special and not bool(right.all()):
                special = True
                at = int((~right).nonzero()[0])
                worst = describe(actual, start + at, float(got[at]), float(wanted[at]))
        if scale is None:
            sizes = wanted.double() if finite is None else torch.where(finite, wanted.double(), 0.0)
            largest, total = max(largest, _largest(sizes)), total + sum_of_squares(sizes)
        finites += got.numel() if finite is None else int(finite.sum())
        squares += sum_of_squares(difference)
        count += got.numel()
        if furthest > max_abs:
            max_abs = furthest
            if not special:
                at = int(difference.abs().argmax())
                worst = describe(actual, start + at, float(got[at]), float(wanted[at]))
                rest = {float(other[start + at]) for other in others} - {float(wanted[at])}
                worst += "".join(f" or {other:.6g}" for other in sorted(rest))
    elements = max(count, 1)
    return Errors(
        max_abs=max_abs, rms_abs=math.sqrt(squares / elements), worst=worst, special=special,
        scale=scale or Scale(largest, math.sqrt(total / elements)), finite=finites / count if count else 1.0,
    )  # fmt: skip


def _nearest(got: torch.Tensor, wanted: torch.Tensor, others: Sequence[torch.Tensor], within: bool) -> torch.Tensor:
    """What `got` is compared with: `got` itself where it is one of `others`; within: where it is between these two."""
    if others and within:
        low, high = others
        return torch.where((got >= low) & (got <= high), got, wanted)
    for other in others:
        wanted = torch.where(got == other, got, wanted)
    return wanted


def _apart(got: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """`got` - `wanted` in float64. Whole numbers that differ are at least 1 apart: beyond 2**53, neighbours are equal
    there."""
    x = got if got.is_floating_point() and wanted.dtype == torch.float64 else got.double()
    difference = torch.sub(x, wanted if wanted.is_floating_point() else wanted.double())
    if got.is_floating_point() or wanted.is_floating_point():
        return difference
    return torch.where(got != wanted, difference.abs().clamp(min=1.0), 0.0)


def right_beyond(got: torch.Tensor, wanted: torch.Tensor, lenient: bool) -> torch.Tensor:
    """Whether elements are right as far as NaN and infinity go, see `errors`."""
    agreed = (got == wanted) | (wanted.isnan() | got.isnan() if lenient else got.isnan() & wanted.isnan())
    bounded = torch.isfinite(got)
    if got.is_floating_point():
        largest_finite = torch.finfo(got.dtype).max * (NEARLY_INFINITE if lenient else 1.0)
        bounded |= got.isinf() & (got.sign() == wanted.sign()) & (wanted.abs() > largest_finite)
    return torch.where(torch.isfinite(wanted), bounded, agreed)


def _largest(value: torch.Tensor) -> float:
    """The largest absolute value; NaN where there is one."""
    return float(torch.linalg.vector_norm(value, math.inf))


def sum_of_squares(value: torch.Tensor) -> float:
    """Of float64 numbers, in one pass over them: a product of tensors would take the memory of another."""
    norm = float(torch.linalg.vector_norm(value))
    return norm * norm  # infinite where that is too large; ** would raise


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
    """The dtype of the parts of a complex dtype; any other dtype unchanged."""
    return dtype.to_real() if dtype.is_complex else dtype


def is_whole(dtype: torch.dtype) -> bool:
    """Whether these are integers or booleans."""
    return not (dtype.is_floating_point or dtype.is_complex)


def is_quantized(dtype: torch.dtype) -> bool:
    """Whether neighbouring values are so far apart that a rounding error shows as a whole step, or not at all."""
    return is_whole(dtype) or is_float8(dtype)


def is_exact(own: list[Errors]) -> bool:
    """Whether the framework's error is 0 on all draws. own: its errors."""
    return all(e.max_abs == 0.0 and not e.special for e in own)


def allowed(
    own: list[Errors], dtype: torch.dtype, terms: float, exact: bool | None = None, usual: Scale | None = None,
    multiples: tuple[float, float] | None = None, most_rms: float = math.inf,
) -> Allowed:  # fmt: skip
    """The tolerance for a candidate.

    own: the framework's errors, one per draw. terms: the number of terms summed into one element. usual: the output's
    scale on the problem's own inputs. multiples: used in place of MULTIPLES. most_rms: as in MOST_RMS. exact: whether
    the framework is exact on the problem's own inputs; equality is required if it is exact on these draws too. None:
    `own` alone decides. On an unusual distribution a sum may be exact by chance, and only the problem's own inputs show
    whether it always is.
    """
    known = dtype not in WIDEST
    dtype = real(dtype)
    scale = Scale(max(e.scale.largest for e in own), max(e.scale.rms for e in own))
    if is_quantized(dtype) or (known and (is_exact(own) if exact is None else exact and is_exact(own))):
        return Allowed(max_rel=0.0, rms_rel=0.0, exact=True, scale=scale, quantized=is_quantized(dtype))
    largest, rms = multiples or multiples_of(dtype)
    # Sums are accumulated in fp32, sums of fp64 in fp64. The rounding errors of n terms add up like a random walk
    # (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 2.8).
    ulp = torch.finfo(dtype).eps
    computed = min(torch.finfo(torch.float32).eps, ulp)
    accumulated = computed * math.sqrt(min(max(terms, 1.0), MOST_TERMS))
    usual = usual or scale
    moved = max(_relative(e.moved.largest, scale.largest) for e in own) + _larger(usual.largest, scale.largest)
    moved_rms = max(_relative(e.moved.rms, scale.rms) for e in own) + _larger(usual.rms, scale.rms)
    least_rms = ulp / 2 + 4 * (accumulated + computed * moved_rms)
    most_rms = max(most_rms, least_rms)
    return Allowed(
        max_rel=max(largest * max(e.against(scale).max_rel for e in own), ulp + 4 * (accumulated + computed * moved)),
        rms_rel=min(max(rms * max(e.against(scale).rms_rel for e in own), least_rms), most_rms), exact=False,
        scale=scale, most_rms=most_rms,
    )  # fmt: skip


def multiples_of(dtype: torch.dtype) -> tuple[float, float]:
    """MULTIPLES of a real dtype, with those of dtypes that have none of their own."""
    return MULTIPLES.get(dtype, (2.0, 2.0))


def most_rms(dtype: torch.dtype, as_given: bool) -> float:
    """The limit on a multiple of the framework's rms error. as_given: whether a draw is of the problem's own inputs."""
    return MOST_RMS.get(dtype, math.inf) if as_given else math.inf


def _larger(usual: float, scale: float) -> float:
    """How many times larger an output usually is, at most SMALLER; 0 if it is not larger."""
    return 0.0 if usual <= scale else min(_relative(usual, scale), SMALLER)


def excess(found: Errors, limit: Allowed) -> float:
    """The error as a multiple of the tolerance. At most 1 passes; infinity if no multiple of the tolerance would do."""
    found = found.against(limit.scale)
    if found.special or (limit.exact and _differs(found, limit)):
        return math.inf
    if limit.exact:
        return 0.0
    return max(found.max_rel / limit.max_rel, found.rms_rel / limit.rms_rel)


def _differs(found: Errors, limit: Allowed) -> bool:
    return found.max_abs > (0.0 if limit.quantized else FLUSHED)


def verdict(found: Errors, limit: Allowed) -> str:
    """Why `found` does not pass, or "" if it passes."""
    found = found.against(limit.scale)
    if found.special:
        return f"NaN or infinity where the reference has none (or the reverse): {found.worst}"
    if limit.exact:
        why = (
            "float8 and whole numbers have to be equal," if limit.quantized else "the framework's result is exact here"
        )
        return f"{why} and this differs: {found.worst}" if _differs(found, limit) else ""
    if not found.max_rel <= limit.max_rel:
        return (f"the largest error is {found.max_rel:.3g} of the output's scale, at most {limit.max_rel:.3g} is "
                f"allowed: {found.worst}")  # fmt: skip
    if not found.rms_rel <= limit.rms_rel:
        return f"the rms error is {found.rms_rel:.3g} of the output's rms, at most {limit.rms_rel:.3g} is allowed"
    return ""
