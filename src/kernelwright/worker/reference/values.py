"""Values of a draw of inputs: as the problem gives them, or from another distribution of the same structure.

Rows are in `lines`, parameters in `weights`; the judge chooses the seeds. A redraw keeps what a kernel may rely on.
Zeros stay zero, symmetric matrices symmetric, whole numbers stay among those given whatever their dtype, masks keep
their rows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from kernelwright.worker.reference import lines
from kernelwright.worker.reference.instance import Input

AS_GIVEN = "as given"
CENTRED, SCALED_UP, SCALED_DOWN, OFFSET = "centred", "scaled by 16", "scaled by 1/16", "offset"
RAMP, OUTLIER, HEAVY = "growing along every dimension", "with an outlier at either end", "with heavy tails"
SPECIAL, FINITE_SPECIAL = "with special values", "with signed zeros and denormals"

PARTLY = "of which some differ from those of the call before"
FEW = "of which a few differ from those of the call before"

NEGATIVE, SPREAD = "negative and up to 16 times as large", "spread over many magnitudes"
LARGE, GREAT, HUGE = "of about a million", "of one sign and about 1e16", "of one sign and about 1e31"
PLAIN = {name: f"{name}, small whole numbers times a power of two" for name in (LARGE, GREAT, HUGE)}
ROWS, SLICES = "with rows of zeros, of equal and of tiny values", "with slices of zeros, of equal and of tiny values"
TIED = "of few different values"
NEGATED_WEIGHTS = "as given, parameters negated and positive buffers near zero"
SCALED_WEIGHTS = "as given, parameters scaled by 16 and buffers too"
SPREAD_WEIGHTS = "as given, parameters and buffers spread over many magnitudes"
UNEVEN_WEIGHTS = "as given, parameters and buffers spread over some magnitudes"

WEIGHTS = (NEGATED_WEIGHTS, SCALED_WEIGHTS, SPREAD_WEIGHTS)
"""Those that leave inputs as they are."""

DISTRIBUTIONS = (
    AS_GIVEN, CENTRED, RAMP, SCALED_UP, OUTLIER, SCALED_DOWN, HEAVY, OFFSET, SPECIAL,
    NEGATIVE, SPREAD, LARGE, HUGE, ROWS, SLICES, TIED, *WEIGHTS,
)  # fmt: skip
"""By draw number. An odd count, so that draws d and d + PERIOD of one distribution see different poison."""

MAGNITUDES = frozenset((*PLAIN, *PLAIN.values()))
"""Those that decide only where no rounding of an intermediate result does."""

STRICT = frozenset((NEGATIVE, SPREAD, ROWS, SLICES, TIED, *MAGNITUDES, *WEIGHTS, UNEVEN_WEIGHTS))
"""Those that decide only where the framework itself is finite and precise."""

CHEAP = frozenset((CENTRED, RAMP, SCALED_UP, OUTLIER, SCALED_DOWN, HEAVY, OFFSET, *WEIGHTS))
"""Elementwise and in place, so that they can be had for inputs of several gigabytes."""

SCALE = 16.0
"""A power of two, so that scaling rounds nothing; exp of 16 standard deviations still fits float32."""

OFFSET_DEVIATIONS = 2.0
"""Moderate: E[x²] - E[x]² loses a factor of 5 then (14 for uniform inputs), which the tolerance bears; much more would
judge the formula."""

RAMP_EXPONENT = 4
"""From 1/16 to 16 times the given values, over all dimensions together. Not an ascending order of the values: rows of
it vary little about a large mean, which again would judge the formula of a variance."""

OUTLIER_FACTOR = 64.0
"""Takes the largest of a few normal values past 88, where exp leaves float32: a softmax has to subtract its maximum."""

SPREAD_EXPONENTS = 25
"""Values are divided by 1 to 2^24, so that a few keep their size and the smallest are those that float32 just sees
beside them."""

LARGE_EXPONENT, GREAT_EXPONENT, HUGE_EXPONENT = 20, 52, 104
"""LARGE takes normal values past 65504, the largest of fp16; their fourth powers fit float32. HUGE takes them past
1e30, which kernels write for an infinity; a sum of a million of them fits float32. GREAT is for problems that multiply
two inputs. Of both, the first input is negative, the second positive and so on, so that their products are below any
number that is used as minus infinity."""

PLAIN_LARGEST = 4.0
"""Sums of products of whole numbers up to this, times powers of two, are exact in float32 up to a million terms: two
kernels that sum or fuse otherwise have the same scores."""

HALF_EXPONENT = 8
"""At most this in float16, where a sum of some dozen such values is finite."""

PARTLY_FACTOR, PARTLY_ONE_IN = 1.5, 8
"""Enough of a change to be seen in what depends on the element; few enough that a kernel which looks at one element
to tell whether it knows the input is mostly taken in."""

FEW_FACTOR, FEW_ELEMENTS, FEW_ONE_IN_AT_MOST = 4.0, 8, 4096
"""About eight elements, of a large tensor one in 4096: a kernel that looks at a quarter of them misses one of eight in
all but 4^-8 of the cases. A larger factor, because each has to be seen by itself."""

ORDER_ELEMENTS = 1 << 24
"""Larger tensors are not permuted: the indices alone would take 8 bytes an element."""

SAMPLE_ELEMENTS = 1 << 16
CHUNK_ELEMENTS = 1 << 26


MILDER = {
    SPECIAL: (FINITE_SPECIAL,), LARGE: (PLAIN[LARGE],), HUGE: (PLAIN[HUGE], GREAT, PLAIN[GREAT]),
    SPREAD_WEIGHTS: (UNEVEN_WEIGHTS,),
}  # fmt: skip
"""What is drawn first, in order, in place of a distribution that a reference does not bear."""


def fallbacks(distribution: str) -> tuple[str, ...]:
    """What to draw instead, in order, where a reference does not bear `distribution`."""
    return (distribution, *MILDER.get(distribution, ()), AS_GIVEN)


def redraw(inputs: tuple[Input, ...], distribution: str, seed: int) -> None:
    """Change tensors in place (they are the caller's own, made for this draw)."""
    if distribution in (AS_GIVEN, *WEIGHTS, UNEVEN_WEIGHTS):
        return
    floats: list[Tensor] = []
    for position, value in enumerate(inputs):
        if not isinstance(value, Tensor):
            continue
        generator = torch.Generator(device=value.device).manual_seed(seed + position)
        if _may_change(value):
            floats.append(value)
            if distribution in (SPECIAL, FINITE_SPECIAL):
                _place(value, _finite_specials(value.dtype), generator)
            elif distribution in (ROWS, SLICES):
                if not _symmetric(value):
                    lines.redraw(value, generator, last=distribution == ROWS)
            else:
                salt = random.Random(f"{seed} {position} {distribution}").getrandbits(31)
                _changed(value, distribution, salt, sign=1 if len(floats) % 2 == 0 else -1)
        elif _may_permute(value):
            units = value if lines.is_mask(value) else value.view(-1)
            order = torch.randperm(len(units), generator=generator, device=value.device)
            units.copy_(units[order])
    if distribution == SPECIAL and floats:
        # One tensor only: infinities in several would make most outputs of a product NaN, which compares nothing.
        chosen = floats[seed % len(floats)]
        generator = torch.Generator(device=chosen.device).manual_seed(seed)
        _place(chosen, (math.inf, -math.inf, math.nan), generator)


def _changed(tensor: Tensor, distribution: str, salt: int, sign: int) -> None:
    """A tensor that `_may_change`, by a function of each non-zero value or of its position. salt: decides which
    values are chosen where some are. sign: where all values get one."""
    if distribution == RAMP:
        _ramp(tensor)
        return
    sample = _sample(tensor)
    sample = sample[sample != 0]
    mean, deviation = float(sample.mean()), float(sample.std(correction=0))
    largest, smallest = float(tensor.max()), float(tensor.min())
    few = min(max(tensor.numel() // FEW_ELEMENTS, PARTLY_ONE_IN), FEW_ONE_IN_AT_MOST)

    def power(exponent: int) -> float:
        return 2.0 ** (min(exponent, HALF_EXPONENT) if tensor.dtype == torch.float16 else exponent)

    def plain(v: Tensor) -> Tensor:
        return (v.abs() / (deviation or 1.0)).ceil().clamp(1, PLAIN_LARGEST)

    functions: dict[str, Callable[[Tensor], Tensor]] = {
        CENTRED: lambda v: v - mean,
        SCALED_UP: lambda v: v * SCALE,
        SCALED_DOWN: lambda v: v / SCALE,
        OFFSET: lambda v: v + OFFSET_DEVIATIONS * deviation,
        OUTLIER: lambda v: torch.where((v == largest) | (v == smallest), v * OUTLIER_FACTOR, v),
        HEAVY: lambda v: v * (v / (deviation or 1.0)) ** 2,
        NEGATIVE: lambda v: -SCALE * v.abs(),
        SPREAD: lambda v: v * torch.exp2(-(_hashed(v, salt) % SPREAD_EXPONENTS).to(v.dtype)),
        LARGE: lambda v: v * power(LARGE_EXPONENT),
        GREAT: lambda v: sign * (v.abs() + deviation) * power(GREAT_EXPONENT),
        HUGE: lambda v: sign * (v.abs() + deviation) * power(HUGE_EXPONENT),
        PLAIN[LARGE]: lambda v: v.sign() * plain(v) * power(LARGE_EXPONENT),
        PLAIN[GREAT]: lambda v: sign * plain(v) * power(GREAT_EXPONENT),
        PLAIN[HUGE]: lambda v: sign * plain(v) * power(HUGE_EXPONENT),
        TIED: lambda v: lines.nearest(v, sample),
        PARTLY: lambda v: torch.where(_one_in(PARTLY_ONE_IN, v, salt), v * PARTLY_FACTOR, v),
        FEW: lambda v: torch.where(_one_in(few, v, salt), v * FEW_FACTOR, v),
    }
    for piece in _pieces(tensor):
        wide = piece.double() if piece.dtype == torch.float64 else piece.float()
        piece.copy_(torch.where(wide == 0, wide, functions[distribution](wide)))


def _one_in(count: int, values: Tensor, salt: int) -> Tensor:
    """Which of `values` are chosen, by their bits, so that equal ones are chosen together, and by a salt, so that a
    kernel cannot work out which."""
    return _hashed(values, salt) % count == 0


def _hashed(values: Tensor, salt: int) -> Tensor:
    """A whole number from 0 for each value."""
    bits = values.float().contiguous().view(torch.int32).long() ^ salt
    return (bits * 2654435761 >> 29) & 0x7FFFFFFF  # Knuth's multiplicative hash (TAOCP 3, 6.4): high bits mix best


def _ramp(tensor: Tensor) -> None:
    """Powers of two, so that nothing is rounded and no order of multiplying matters."""
    steps = max(1, RAMP_EXPONENT // max(tensor.dim(), 1))
    for dim, size in enumerate(tensor.shape):
        exponents = torch.linspace(-steps, steps, size, device=tensor.device).round()
        shape = [size if d == dim else 1 for d in range(tensor.dim())]
        tensor.mul_(torch.exp2(exponents).to(tensor.dtype).view(shape))


def _may_change(tensor: Tensor) -> bool:
    """Real-valued data: not a mask or labels in floating point, not memory shared between elements."""
    if not tensor.is_floating_point() or tensor.element_size() < 2 or tensor.numel() == 0 or _expanded(tensor):
        return False
    sample = _sample(tensor)
    return bool(sample.isfinite().all()) and not bool((sample == sample.round()).all())


def _may_permute(tensor: Tensor) -> bool:
    """Whole numbers of any dtype without an order to keep: offsets and positions ascend, a causal mask is square, and
    one of lengths that ascend has a rising count in each row."""
    if tensor.is_complex() or _expanded(tensor) or not tensor.is_contiguous():
        return False
    if not 1 < tensor.numel() <= ORDER_ELEMENTS:
        return False
    if tensor.is_floating_point() and (tensor.element_size() < 2 or not bool((tensor == tensor.round()).all())):
        return False
    if lines.is_mask(tensor):
        return lines.may_permute_rows(tensor)
    if tensor.is_floating_point() and tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2]:
        return False  # distances between positions
    flat = tensor.view(-1)
    return not bool((flat[1:] >= flat[:-1]).all())


def _place(tensor: Tensor, specials: tuple[float, ...], generator: torch.Generator) -> None:
    """Put `specials` at neighbouring elements, where those are not zero and the tensor is not symmetric."""
    if not tensor.is_contiguous() or _symmetric(tensor):
        return
    flat = tensor.view(-1)
    count = min(len(specials), flat.numel())
    start = int(torch.randint(flat.numel() - count + 1, (), generator=generator, device=tensor.device))
    window = flat[start : start + count]
    values = torch.tensor(specials[:count], dtype=tensor.dtype, device=tensor.device)
    window.copy_(torch.where(window == 0, window, values))


def _finite_specials(dtype: torch.dtype) -> tuple[float, ...]:
    denormal = torch.finfo(dtype).smallest_normal / 4
    return (0.0, -0.0, denormal, -denormal)


def _symmetric(tensor: Tensor) -> bool:
    """Whether it is a symmetric matrix (or a batch of them), which a kernel may read one half of."""
    return tensor.dim() >= 2 and 1 < tensor.shape[-1] == tensor.shape[-2] and torch.equal(tensor, tensor.mT)


def _expanded(tensor: Tensor) -> bool:
    return any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def _sample(tensor: Tensor) -> Tensor:
    """Some of the elements, in float64."""
    flat: Any = tensor.view(-1) if tensor.is_contiguous() else tensor.reshape(-1)
    return torch.as_tensor(flat[:: max(1, flat.numel() // SAMPLE_ELEMENTS)]).double()


def _pieces(tensor: Tensor) -> Iterator[Tensor]:
    """Views that together are the tensor, each small enough to be computed on in a wider type."""
    if not tensor.is_contiguous():
        yield tensor
        return
    yield from tensor.view(-1).split(CHUNK_ELEMENTS)
