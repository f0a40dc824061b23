"""Input distributions of random draws: the problem's own values, or values changed to another distribution.

`lines` changes rows, `weights` parameters, `varied` what a file makes constant. The judge chooses the seeds. A redraw
keeps the structure that a kernel may rely on: zeros and infinities stay, symmetric matrices stay symmetric, whole
numbers of any dtype are only permuted, not where one of them is a sentinel, and masks keep their rows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kernelwright.worker.reference import lines
from kernelwright.worker.reference.instance import Input
from kernelwright.worker.reference.pieces import pieces

AS_GIVEN = "as given"
CENTRED = "centred, or of unlike magnitudes where they are"
SCALED_UP, SCALED_DOWN, OFFSET = "scaled by 16", "scaled by 1/16", "offset"
RAMP, OUTLIER, HEAVY = "growing along every dimension", "with an outlier at either end", "with heavy tails"
SPECIAL, FINITE_SPECIAL = "with special values", "with signed zeros and denormals"
SPECIAL_ONE = "with special values in one input"

PARTLY = "of which some differ from those of the call before"
FEW = "of which a few differ from those of the call before"

NEGATIVE, SPREAD = "negative and up to 16 times as large", "spread over many magnitudes"
FULL = "up to a quarter of float16's range"
LARGE, GREAT, HUGE = "of about a million", "of one sign and about 1e16", "of one sign and about 1e31"
PLAIN = {name: f"{name}, small whole numbers times a power of two" for name in (LARGE, GREAT, HUGE)}
ROWS, SLICES = "with rows of zeros, of equal and of tiny values", "with slices of zeros, of equal and of tiny values"
TIED = "of few different values"
MASKED, MASKED_ACROSS = "with rows that begin with minus infinity", "with columns that begin with minus infinity"
HIDDEN = "with rows of minus infinity alone, and rows that begin with it"
ZEROS, ZERO_ONE = "of zeros of both signs", "with zeros of both signs in the last input"
VARIED_PARTS = "as given, but constants and masks vary"
VARIED = f"{VARIED_PARTS}, and labels have sentinels"
NEGATED_WEIGHTS = "as given, parameters negated, small biases scaled to 1, and positive buffers near zero"
SCALED_WEIGHTS = "as given, parameters scaled by 16 and buffers too"
SPREAD_WEIGHTS = "as given, parameters and buffers spread over many magnitudes"
UNEVEN_WEIGHTS = "as given, parameters and buffers spread over some magnitudes"

WEIGHTS = (NEGATED_WEIGHTS, SCALED_WEIGHTS, SPREAD_WEIGHTS)
"""Distributions of parameters and buffers. They leave inputs as given."""

DISTRIBUTIONS = (
    AS_GIVEN, CENTRED, RAMP, SCALED_UP, OUTLIER, SCALED_DOWN, HEAVY, OFFSET, SPECIAL,
    NEGATIVE, SPREAD, LARGE, HUGE, ROWS, SLICES, TIED, HIDDEN, MASKED_ACROSS, ZEROS, VARIED, *WEIGHTS,
)  # fmt: skip
"""The distribution of draw d is entry d % PERIOD, where PERIOD is the count. The count is odd, so that draws d and
d + PERIOD of one distribution get different poison."""

ONE_SIGN = frozenset((NEGATIVE, SPREAD, GREAT, HUGE, PLAIN[GREAT], PLAIN[HUGE]))
"""Distributions with rows of one sign throughout. In the others zeros stay zero in any case."""

MAGNITUDES = frozenset((FULL, *PLAIN, *PLAIN.values()))
"""Distributions of very large values. They are used only if rounding of intermediate results does not change the
outputs much."""

STRICT = frozenset((NEGATIVE, SPREAD, ROWS, SLICES, TIED, HIDDEN, MASKED, MASKED_ACROSS, ZEROS, ZERO_ONE, VARIED,
                    VARIED_PARTS, *MAGNITUDES, *WEIGHTS, UNEVEN_WEIGHTS))  # fmt: skip
"""Distributions that are used only if the framework's own outputs are finite and precise."""

TINY = frozenset((NEGATIVE, ZEROS, ZERO_ONE))
"""Distributions whose outputs may be much smaller than usual."""

SPECIALS = frozenset((SPECIAL, SPECIAL_ONE))
INFINITE = SPECIALS | {HIDDEN, MASKED, MASKED_ACROSS}
"""Distributions that put infinities into inputs."""

LENIENT = INFINITE | MAGNITUDES | {FINITE_SPECIAL, VARIED, VARIED_PARTS}
"""Distributions on which a NaN may stand for an infinity, and anything for a NaN (`tolerance.errors`): they hold
infinities, or values of which kernels make some, or rows that are masked throughout."""

CHEAP = frozenset((CENTRED, RAMP, SCALED_UP, OUTLIER, SCALED_DOWN, HEAVY, OFFSET, *WEIGHTS))
"""Distributions that are computed element by element and in place, so that inputs of several gigabytes can use them."""

UNLIKE, CENTRED_MOST = 256.0, 0.25
"""CENTRED leaves inputs as they are whose mean is below a quarter of their standard deviation. Where there are several
inputs, it multiplies every second one of these by 256, beginning with the first: products then are as large as those of
two inputs that are scaled by 16. Shares (`lines.are_shares`) stay."""

SCALE = 16.0
"""A power of two, so that scaling rounds nothing; exp of 16 standard deviations still fits float32."""

OFFSET_DEVIATIONS = 2.0
"""Offset in standard deviations. It is moderate: E[x²] - E[x]² then loses a factor of 5 (14 for uniform inputs), which
the tolerance allows. A much larger offset would reject that formula."""

RAMP_EXPONENT = 4
"""The ramp multiplies the given values by 1/16 to 16, over all dimensions together. It does not sort the values: sorted
rows vary little about a large mean, which again would reject a formula for the variance."""

OUTLIER_FACTOR = 64.0
"""Takes the largest of a few normal values past 88, where exp overflows float32: a softmax has to subtract its maximum.
"""

SPREAD_EXPONENTS = 25
"""Values are divided by 2^0 to 2^24: a few keep their size, and the smallest are those that still change a float32 sum
with them."""

LARGE_EXPONENT, GREAT_EXPONENT, HUGE_EXPONENT = 20, 52, 104
"""Exponents of two. LARGE takes normal values past 65504, the largest fp16 number; their fourth powers fit float32.
HUGE takes them past 1e30, which kernels write for infinity; a sum of a million of them fits float32. GREAT is for
problems that multiply two inputs. In GREAT and HUGE the first input is negative, the second positive and so on, so that
products are below any number that kernels write for minus infinity."""

PLAIN_LARGEST, PLAIN_STEPS = 32.0, 8.0
"""The largest whole number in the PLAIN distributions, and how many of them there are to a standard deviation. Sums of
up to 16,384 products of such numbers are exact in float32, also times a power of two. So kernels that sum in another
order or fuse operations get the same scores, and few rows of scores have two equal maxima."""

HALF_EXPONENT = 8
"""Limit on these exponents in float16: a sum of some dozen such values is still finite."""

FULL_SHARE = 0.25
"""The largest value of FULL, as a share of float16's largest number; the other half-precision dtype has float32's."""

PARTLY_FACTOR, PARTLY_ONE_IN = 1.5, 8
"""PARTLY multiplies one value in 8 by 1.5. The change is large enough to show in the outputs that depend on the value.
It is rare enough that a kernel which looks at one element to recognise an earlier input usually misses it."""

FEW_FACTOR, FEW_ELEMENTS, FEW_ONE_IN_AT_MOST = 4.0, 8, 4096
"""FEW multiplies about eight elements by 4; in a large tensor one in 4096. A kernel that looks at a quarter of the
elements sees all eight only with a probability of 4^-8. The factor is larger than PARTLY_FACTOR, because each changed
element has to show by itself."""

ORDER_ELEMENTS = 1 << 24
"""Larger tensors are not permuted: the indices alone would take 8 bytes an element."""

FEWEST_EQUAL, ZEROS_MOST = 8, 2.0
"""Zeros are ordinary values, as in numbers rounded to a grid, and not those of a structure, where another value occurs
at least FEWEST_EQUAL times in a sample, and zeros at most ZEROS_MOST times as often."""

FEWEST_ORDERED = 8
"""Fewest ascending values that are taken for an order to keep: of eight random values one in 40,320 tensors ascends."""

SAMPLE_ELEMENTS = 1 << 16
TRIED_PLACES = 256

MILDER = {
    SPECIAL: (SPECIAL_ONE, FINITE_SPECIAL), LARGE: (PLAIN[LARGE],), HUGE: (PLAIN[HUGE], GREAT, PLAIN[GREAT]),
    SPREAD_WEIGHTS: (UNEVEN_WEIGHTS,), HIDDEN: (MASKED,), ZEROS: (ZERO_ONE,), VARIED: (VARIED_PARTS,),
}  # fmt: skip
"""Milder distributions that are tried in this order where a distribution is not usable for a reference."""


def fallbacks(distribution: str, has_float16: bool) -> tuple[str, ...]:
    """The distributions to try, in order, until one is usable: `distribution`, milder ones, the problem's own."""
    stronger = (FULL,) if distribution == LARGE and has_float16 else ()
    return (*stronger, distribution, *MILDER.get(distribution, ()), AS_GIVEN)


def redraw(inputs: tuple[Input, ...], distribution: str, seed: int, *, widened: int = 1) -> None:
    """Change the inputs of a draw to `distribution`, in place: float tensors by value, whole numbers by permutation.

    widened: a factor of the exponents of MAGNITUDES; above 1, inputs of one sign are positive, not every second one.
    """
    if distribution in (AS_GIVEN, VARIED, VARIED_PARTS, *WEIGHTS, UNEVEN_WEIGHTS):
        return
    floats: list[Tensor] = []
    is_told = any(isinstance(value, Tensor) and _has_sentinel(value) for value in inputs)
    changing = [value for value in inputs if isinstance(value, Tensor) and _may_change(value)]
    ordered = [value for value in changing if _ascends(value)]
    shares = [value for value in changing if distribution == CENTRED and lines.are_shares(value)]
    centred = [value for value in changing if distribution == CENTRED and _is_centred(value)]
    spared = changing[:-1] if distribution == ZERO_ONE else []  # the last: a divisor, a weight, a gradient
    for position, value in enumerate(inputs):
        if not isinstance(value, Tensor):
            continue
        generator = torch.Generator(device=value.device).manual_seed(seed + position)
        if any(value is one for one in spared):
            continue
        if _may_change(value):
            floats.append(value)
            if distribution in (*SPECIALS, FINITE_SPECIAL):
                _place(value, _finite_specials(value.dtype), generator)
            elif distribution in (HIDDEN, MASKED, MASKED_ACROSS):
                is_ordered = any(value is one for one in ordered)
                if len(floats) == 1 and not is_ordered and not _symmetric(value):  # one, so that outputs stay finite
                    lines.mask(value, generator, last=distribution != MASKED_ACROSS, throughout=distribution == HIDDEN)
            elif distribution in (ROWS, SLICES):
                if not _symmetric(value):
                    lines.redraw(value, generator, last=distribution == ROWS)
            else:
                if len(changing) > 1 and any(value is one for one in (*shares, *centred)):
                    value.mul_(UNLIKE if any(value is one for one in centred[::2]) else 1)
                    continue
                salt = random.Random(f"{seed} {position} {distribution}").getrandbits(31)
                _changed(value, distribution, salt, 1 if widened > 1 or len(floats) % 2 == 0 else -1, widened)
                if distribution == SPREAD and not _symmetric(value):
                    lines.sign(value, generator)
        elif _may_permute(value) and not is_told:
            units = value if lines.is_mask(value) else value.view(-1)
            order = torch.randperm(len(units), generator=generator, device=value.device)
            units.copy_(units[order])
    for value in ordered:
        value.view(-1).copy_(value.view(-1).sort().values)
    floats = [value for value in floats if not any(value is one for one in ordered)]  # NaN has no place in an order
    if distribution == SPECIAL_ONE and floats:  # infinities in several may make most outputs of a product NaN
        floats = [floats[seed % len(floats)]]
    for position, value in enumerate(floats if distribution in SPECIALS else ()):
        generator = torch.Generator(device=value.device).manual_seed(seed + position)
        _place(value, (math.inf, -math.inf, math.nan), generator)


def _changed(tensor: Tensor, distribution: str, salt: int, sign: int, widened: int) -> None:
    """Change a float tensor in place, by a function of each finite non-zero value or of its position.

    salt: selects the values where only some change. sign: 1 or -1, for distributions of one sign. widened: as in
    `redraw`.
    """
    if distribution == RAMP:
        _ramp(tensor)
        return
    sample = _sample(tensor)
    sample = sample[sample.isfinite()]
    has_zeros = distribution in ONE_SIGN and _are_ordinary_zeros(sample)
    sample = sample[sample != 0]
    mean, deviation = float(sample.mean()), float(sample.std(correction=0))
    largest, smallest = float(tensor.max()), float(tensor.min())
    if not math.isfinite(largest - smallest):
        finite = tensor[tensor.isfinite()]
        largest, smallest = float(finite.max()), float(finite.min())
    least = float(sample.abs().min()) if has_zeros else 0.0
    few = min(max(tensor.numel() // FEW_ELEMENTS, PARTLY_ONE_IN), FEW_ONE_IN_AT_MOST)

    def power(exponent: int) -> float:
        return 2.0 ** (min(exponent, HALF_EXPONENT) if tensor.dtype == torch.float16 else exponent * widened)

    def room() -> float:
        most = FULL_SHARE * torch.finfo(torch.float16).max
        return 2.0 ** math.floor(math.log2(most / (max(largest, -smallest) or 1.0)))

    def plain(v: Tensor) -> Tensor:
        return (v.abs() * (PLAIN_STEPS / (deviation or 1.0))).ceil().clamp(1, PLAIN_LARGEST)

    functions: dict[str, Callable[[Tensor], Tensor]] = {
        CENTRED: lambda v: v - mean,
        SCALED_UP: lambda v: v * SCALE,
        SCALED_DOWN: lambda v: v / SCALE,
        OFFSET: lambda v: v + OFFSET_DEVIATIONS * deviation,
        OUTLIER: lambda v: torch.where((v == largest) | (v == smallest), v * OUTLIER_FACTOR, v),
        HEAVY: lambda v: v * (v / (deviation or 1.0)) ** 2,
        NEGATIVE: lambda v: -SCALE * v.abs(),
        SPREAD: lambda v: v * torch.exp2(-(_hashed(v, salt) % SPREAD_EXPONENTS).to(v.dtype)),
        **dict.fromkeys((ZEROS, ZERO_ONE), lambda v: torch.where(_one_in(2, v, salt), 0.0, -0.0)),
        FULL: lambda v: v * (room() if tensor.dtype == torch.float16 else power(LARGE_EXPONENT)),
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
    for piece in pieces(tensor):
        wide = piece.double() if piece.dtype == torch.float64 else piece.float()
        wide = wide.masked_fill(wide == 0, least) if has_zeros else wide
        piece.copy_(torch.where((wide == 0) | ~wide.isfinite(), wide, functions[distribution](wide)))


def _one_in(count: int, values: Tensor, salt: int) -> Tensor:
    """A mask of about one in `count` values. It depends on the bits of a value, so equal values are chosen together,
    and on the salt, so a kernel cannot compute it."""
    return _hashed(values, salt) % count == 0


def _hashed(values: Tensor, salt: int) -> Tensor:
    """A hash of each value: a whole number from 0."""
    bits = values.float().contiguous().view(torch.int32).long() ^ salt
    return (bits * 2654435761 >> 29) & 0x7FFFFFFF  # Knuth's multiplicative hash (TAOCP 3, 6.4): high bits mix best


def _ramp(tensor: Tensor) -> None:
    """Multiply by powers of two that grow along each dimension: nothing is rounded, in any order of multiplication."""
    steps = max(1, RAMP_EXPONENT // max(tensor.dim(), 1))
    for dim, size in enumerate(tensor.shape):
        exponents = torch.linspace(-steps, steps, size, device=tensor.device).round()
        shape = [size if d == dim else 1 for d in range(tensor.dim())]
        tensor.mul_(torch.exp2(exponents).to(tensor.dtype).view(shape))


def _may_change(tensor: Tensor) -> bool:
    """Whether a tensor holds real-valued data, perhaps among infinities and NaN: not masks or labels as floats, not
    expanded memory."""
    if not tensor.is_floating_point() or tensor.element_size() < 2 or tensor.numel() == 0 or _expanded(tensor):
        return False
    sample = _sample(tensor)
    return bool((sample.isfinite() & (sample != sample.round())).any())


def _is_centred(tensor: Tensor) -> bool:
    sample = _sample(tensor)
    sample = sample[sample.isfinite()]
    return not lines.are_shares(tensor) and bool(sample.mean().abs() < CENTRED_MOST * sample.std(correction=0))


def _are_ordinary_zeros(sample: Tensor) -> bool:
    """Whether zeros are a value among others of a grid (FEWEST_EQUAL), and no structure such as a triangle."""
    zeros = int((sample == 0).sum())
    if not zeros or zeros == len(sample):
        return False
    most = int(sample[sample != 0].unique(return_counts=True)[1].max())
    return most >= FEWEST_EQUAL and zeros <= ZEROS_MOST * most


def _may_permute(tensor: Tensor) -> bool:
    """Whether a tensor holds whole numbers, of any dtype, without an order to keep. Offsets and positions ascend and
    keep theirs; `lines.may_permute_rows` decides for masks."""
    if tensor.is_complex() or _expanded(tensor) or not tensor.is_contiguous():
        return False
    if not 1 < tensor.numel() <= ORDER_ELEMENTS:
        return False
    if tensor.is_floating_point() and (tensor.element_size() < 2 or not bool((tensor == tensor.round()).all())):
        return False
    if lines.is_mask(tensor):
        return lines.may_permute_rows(tensor)
    if tensor.is_floating_point() and tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2]:
        return False  # may be distances between positions
    flat = tensor.view(-1)
    return not bool((flat[1:] >= flat[:-1]).all())


def _has_sentinel(tensor: Tensor) -> bool:
    """Whether integers have one negative value only. It marks labels to ignore and unused entries of a table, and other
    inputs, such as lengths, may say where these are: then no whole numbers change places."""
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        return False
    negative = tensor[tensor < 0]
    return bool(len(negative)) and bool((negative == negative[0]).all())


def _ascends(tensor: Tensor) -> bool:
    """Whether the values ascend, so that a kernel may search among them: a codebook, boundaries, sorted keys. Of fewer
    than FEWEST_ORDERED values that may be chance."""
    if not tensor.is_contiguous() or not FEWEST_ORDERED <= tensor.numel() <= ORDER_ELEMENTS:
        return False
    flat = tensor.view(-1)
    return all(bool((part[1:] >= part[:-1]).all()) for part in (flat[:FEWEST_ORDERED], flat)) and bool(
        flat[0] < flat[-1]
    )


def _place(tensor: Tensor, specials: tuple[float, ...], generator: torch.Generator) -> None:
    """Put `specials` at neighbouring elements in place of non-zero values: where most are, of TRIED_PLACES places.
    Symmetric tensors stay unchanged."""
    if not tensor.is_contiguous() or _symmetric(tensor):
        return
    windows = tensor.view(-1).unfold(0, min(len(specials), tensor.numel()), 1)
    tried = torch.randint(len(windows), (TRIED_PLACES,), generator=generator, device=tensor.device)
    window = windows[int(tried[(windows[tried] != 0).sum(1).argmax()])]
    values = torch.tensor(specials[: len(window)], dtype=tensor.dtype, device=tensor.device)
    window.copy_(torch.where(window == 0, window, values))


def _finite_specials(dtype: torch.dtype) -> tuple[float, ...]:
    denormal = torch.finfo(dtype).smallest_normal / 4
    return (0.0, -0.0, denormal, -denormal)


def _symmetric(tensor: Tensor) -> bool:
    """Whether a tensor is a symmetric matrix or a batch of them: a kernel may read only one half of it."""
    return tensor.dim() >= 2 and 1 < tensor.shape[-1] == tensor.shape[-2] and torch.equal(tensor, tensor.mT)


def _expanded(tensor: Tensor) -> bool:
    return any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def _sample(tensor: Tensor) -> Tensor:
    """Some of the elements, in float64."""
    flat: Any = tensor.view(-1) if tensor.is_contiguous() else tensor.reshape(-1)
    return torch.as_tensor(flat[:: max(1, flat.numel() // SAMPLE_ELEMENTS)]).double()
