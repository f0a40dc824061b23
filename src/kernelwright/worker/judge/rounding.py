"""How the reference's outputs depend on the rounding of intermediate results.

With a fused multiply-add, or a sum computed twice in different orders, two reads of one intermediate result differ by a
rounding error. If scores are about 1e12, that error is 1e5, and the exponential of a score minus the largest score
overflows in an honest kernel. So the reference is computed in float64, with an error of up to one eps in each read of
an intermediate result. Values that the dtype holds exactly (inputs, whole numbers, maxima of inputs) get no error,
because no kernel has to round them. ROWS adds what this does not express.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from kernelwright.worker.reference.instance import Instance, Watching, cast, given, is_float8, operator_name, outputs
from kernelwright.worker.reference.pieces import pieces


class Side(enum.Enum):
    """On which side of the exact result those of composed functions are: all too large; every other one; each
    element on either. If two such functions meet in an element, their errors add up in one reading and cancel in
    another."""

    LARGE = enum.auto()
    ALTERNATE = enum.auto()
    EITHER = enum.auto()


@dataclass(frozen=True)
class Reading:
    """One way to round intermediate results. number: for its random values. signs: each read of an intermediate result
    is too large at all elements, or too small; of seven reads in a row every pair has each of its four combinations in
    one of eight patterns (an orthogonal array of strength 2, a Hadamard matrix): a quantiser reads its scale and its
    quotient, and one combination crosses the step. None: each element is rounded by itself."""

    number: int
    side: Side = Side.EITHER
    signs: int | None = None


READINGS = (Reading(0, Side.LARGE), Reading(1, Side.ALTERNATE), Reading(2), Reading(3))
"""Of every problem: one reading may move an element little by chance."""

PATTERNS = 8
SIGNED_READINGS = tuple(Reading(12 + signs, signs=signs) for signs in range(PATTERNS))
WHOLE_READINGS = (*(Reading(number) for number in range(4, 12)), *SIGNED_READINGS)
"""Those for outputs of whole numbers. A value next to a step (4.5 for rounding) crosses it in half of them."""

LARGE_ELEMENTS = 1 << 22
"""Inputs with more elements get signed readings only: each takes a forward in float64."""


ORDERED = frozenset({torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
                     torch.float16, torch.bfloat16})  # fmt: skip
"""Dtypes that forward rounds to in float64 too, and that PyTorch can compare."""


def roughly(
    wide: Instance, dtype: torch.dtype, seed: int, shifted: list[Tensor] | None = None,
    reading: Reading = WHOLE_READINGS[0], share: float = 1.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The outputs in float64 with errors in intermediate results as large as rounding to `dtype`, times `share`.

    wide: the instance in float64. shifted: the tensors from which another call subtracted maxima; they replace one of
    the two reads, and this call leaves its own there.
    """
    shifted = shifted if shifted is not None else []
    with sdpa_kernel(SDPBackend.MATH), Rough(dtype, seed, shifted, reading, share) as rough:
        floats = [one for _, one in given(wide) if one.dtype == torch.float64]
        rough.sure.update(_storage_of(one) for one in floats if rough.is_all_exact(one))
        return outputs(wide)


def deviations(wide: Instance, exact: tuple[Tensor, ...], dtypes: list[torch.dtype], seed: int) -> list[Tensor]:
    """For each output, how far its elements move when intermediate results and forward's number arguments are rounded,
    in eps of its dtype. wide: the instance in float64; exact: its outputs. 0 for quantized outputs, and where these are
    not finite; infinite where a reading alone is not."""
    found = [torch.zeros_like(output, dtype=torch.float64) for output in exact]
    smooth = [one.is_floating_point and not is_float8(one) for one in dtypes]
    dtype = next((one for one, is_smooth in zip(dtypes, smooth, strict=True) if is_smooth), torch.float32)
    shifted: list[Tensor] = []
    readings = [roughly(wide, dtype, seed, shifted, reading) for reading in READINGS]
    narrow = with_narrow_numbers(wide)
    for made in readings if narrow is None else [*readings, outputs(narrow)]:
        for position, (one, known) in enumerate(zip(made, exact, strict=True)):
            if smooth[position] and one.shape == known.shape:
                moved = (one.double() - known.double()).abs() / torch.finfo(dtypes[position]).eps
                moved = moved.nan_to_num(math.inf).where(known.isfinite(), 0.0)
                torch.maximum(found[position], moved, out=found[position])
    return found


def extremes(instance: Instance, exact: tuple[Tensor, ...]) -> list[tuple[Tensor, ...]]:
    """For each output of whole numbers or in half precision, the least and the largest value of each element when
    intermediate results are rounded in several ways, to the dtype that forward computes in; empty for other outputs.
    exact: the outputs in float64."""
    found: list[tuple[Tensor, ...]] = [(one, one) if one.dtype in ORDERED else () for one in exact]
    elements = sum(value.numel() for value in instance.inputs if isinstance(value, Tensor))
    dtype = computed_in(instance)
    wide = cast(instance, "float64")
    share = 1.0 if dtype == torch.float32 else 0.5  # half precision is rounded once, after functions in float32
    for reading in SIGNED_READINGS if elements > LARGE_ELEMENTS else WHOLE_READINGS:
        made = roughly(wide, dtype, 0, reading=reading, share=share)
        for position, (one, known) in enumerate(zip(made, found, strict=True)):
            if known and one.shape == known[0].shape:
                found[position] = torch.minimum(known[0], one), torch.maximum(known[1], one)
    return found


def computed_in(instance: Instance) -> torch.dtype:
    """The finest dtype of forward's intermediate results, float32 at the most: a forward that casts to float32
    somewhere has to be followed there, and one that stays in half precision may be rounded in fewer places than PyTorch
    does."""
    dtypes: set[torch.dtype] = set()

    def see(func: Any, args: Any, named: Any, made: Any) -> None:
        dtypes.update(one.dtype for one in tree_leaves(made) if isinstance(one, Tensor) and one.is_floating_point())

    with Watching(see):
        outputs(instance)
    halves = [one for one in dtypes if torch.finfo(one).eps > torch.finfo(torch.float32).eps]
    return min(halves, key=lambda one: torch.finfo(one).eps) if len(halves) == len(dtypes) > 0 else torch.float32


def with_narrow_numbers(instance: Instance) -> Instance | None:
    """The instance with forward's number arguments rounded to float32, as a kernel gets them; None if none changes."""
    inputs = tuple(_narrow(value) if isinstance(value, float) else value for value in instance.inputs)
    same = all(one is other or one == other for one, other in zip(inputs, instance.inputs, strict=True))
    return None if same else replace(instance, inputs=inputs)


def _narrow(number: float) -> float:
    """A number rounded to float32; unchanged if that is not finite."""
    narrow = torch.tensor(number, dtype=torch.float32).item()
    return narrow if math.isfinite(narrow) else number


class Rough(TorchDispatchMode):
    """Adds rounding errors to intermediate results, and computes operators as ROWS says. sure: the memory of tensors
    that live as long as this reading, do not change, and get no errors."""

    def __init__(self, dtype: torch.dtype, seed: int, shifted: list[Tensor], reading: Reading, share: float) -> None:
        super().__init__()
        self.shifted, self.asked = shifted, 0
        self.reading, self.composed, self.reads = reading, 0, 0
        self.eps = share * torch.finfo(dtype).eps
        self.narrow_eps = min(self.eps, torch.finfo(torch.float32).eps)
        self.held = torch.float32 if dtype == torch.float64 else dtype  # no wider dtype shows what float64 rounds
        self.seed = seed + reading.number
        self.generators: dict[torch.device, torch.Generator] = {}
        self.sure: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.is_view:
            return func(*args, **kwargs)
        name = operator_name(func)
        if func._schema.is_mutable:
            apart = out_of_place(func) if torch.Tag.pointwise in func.tags else None
            if apart is None or args[0].dtype != torch.float64:
                return func(*args, **kwargs)
            return args[0].copy_(self.__torch_dispatch__(apart, types, args, kwargs))
        rows = [row for row in ROWS.values() if name in row.operators]
        made = next((row.instead(self, func, *args, **kwargs) for row in rows if row.instead is not None), None)
        if made is None:
            args, kwargs = self.read(args), {name: self.read(value) for name, value in kwargs.items()}
            made = func(*args, **kwargs)
        if rows and all(one is None or one.dtype == torch.float64 for one in tree_leaves(made)):
            for row in rows:
                made = made if row.after is None else row.after(self, func, made, *args, **kwargs)
        return made

    def made_before(self, x: Tensor) -> Tensor:
        """The input of this operator in the reading before: a kernel that computes it twice sums in two orders."""
        number, self.asked = self.asked, self.asked + 1
        if number == len(self.shifted):
            self.shifted.append(x)
        other, self.shifted[number] = self.shifted[number], x
        return other if other.shape == x.shape else x

    def read(self, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(map(self.read, value))
        if not isinstance(value, Tensor) or value.dtype != torch.float64:
            return value
        is_sure = _storage_of(value) in self.sure
        if is_sure and self.reading.signs is None:
            return value
        part = self.part(value)  # with signs, a read has its number also where it rounds nothing
        if is_sure or (value.numel() > LARGE_ELEMENTS and self.is_all_exact(value)):
            return value  # what follows takes several times the memory of a large input
        return torch.where(value.to(self.held) == value, value, torch.addcmul(value, value, part, value=self.eps))

    def is_exact(self, value: Tensor) -> Tensor:
        return _is_held(value, self.held)

    def is_all_exact(self, value: Tensor) -> bool:
        return all(bool(self.is_exact(one).all()) for one in pieces(value))

    def side(self, value: Tensor) -> Tensor:
        """1 or -1 for each element: whether the result of a composed function is too large or too small."""
        self.composed += 1
        if self.reading.side is Side.EITHER:
            return self.part(value).sign()
        is_small = self.reading.side is Side.ALTERNATE and self.composed % 2 == 1
        return torch.full_like(value, -1.0 if is_small else 1.0)

    def part(self, value: Tensor) -> Tensor:
        """A number from -1 to 1 for each element; 1 or -1 for all, without dimensions, where the reading has signs."""
        if self.reading.signs is not None:
            self.reads = self.reads % (PATTERNS - 1) + 1  # a column of the matrix, without the first: all ones
            return value.new_full((), -1.0 if (self.reading.signs & self.reads).bit_count() % 2 else 1.0)
        device = value.device
        if (generator := self.generators.get(device)) is None:
            generator = self.generators[device] = torch.Generator(device=device).manual_seed(self.seed)
        return torch.empty(value.shape, device=device, dtype=value.dtype).uniform_(-1, 1, generator=generator)


@functools.cache
def out_of_place(func: Any) -> Any:
    """The operator that returns what `func`, such as `add_`, writes into its first argument; None if there is none."""
    packet = getattr(torch.ops.aten, operator_name(func).removesuffix("_"), None)

    def taken(one: Any) -> list[tuple[str, str]]:
        return [(argument.name, str(argument.type)) for argument in one._schema.arguments]

    every = [getattr(packet, name) for name in packet.overloads()] if packet is not None else []
    return next((one for one in every if taken(one) == taken(func)), None)


def _is_held(value: Tensor, dtype: torch.dtype) -> Tensor:
    """Whether `dtype` has all digits of each element; so it has those of NaN and infinities."""
    return (value.to(dtype) == value) | value.isnan()


def _storage_of(value: Tensor) -> int:
    return value.untyped_storage().data_ptr()


# --- rows: `rough` is the reading, `func` the operator, `made` its result in float64 ---------------------------


def _twice(rough: Rough, func: Any, x: Tensor, dim: Any, *rest: Any, keepdim: bool = False, **_: Any) -> Tensor:
    """A compiler may compute the scores once for the numerator and once for the sum, with two orders of summation."""
    other, name = rough.made_before(x), operator_name(func)
    with rough:
        if name == "logsumexp":
            largest = torch.amax(other, dim, keepdim=True)
            made = torch.exp(x - largest).sum(dim, keepdim=True).log() + largest
            return made if keepdim or rest == (True,) else made.sum(dim)
        largest = torch.amax(x, dim, keepdim=True)
        total = torch.exp(x - largest).sum(dim, keepdim=True)
        if name == "_log_softmax":
            return (other - largest) - total.log()
        made = torch.exp(other - largest) / total
        return made if name == "_softmax" else torch.where((x == -torch.inf).all(dim, keepdim=True), 0.0, made)


def _saved_sum(rough: Rough, func: Any, made: Tensor, x: Tensor, dim: int, *_: Any) -> Tensor:
    """A softmax whose row has one number, the logarithm of the sum of exponentials, rounded. Kernels save it for the
    backward, and multiply exponents by log2(e): exp(x - it) is off by an eps of it, also where the result is 1. Where
    that is more than SUM_MOST, such a kernel is wrong. Kernels that split a row save it of each part as well, to weigh
    the parts: next to such a maximum it keeps nothing of how many equal ones there are, and a row with several is left
    out. One with a single maximum is right."""
    if rough.reading not in READINGS:
        return made
    total, largest = torch.logsumexp(x, dim, keepdim=True), x.amax(dim, keepdim=True)
    moved = rough.narrow_eps * total.abs()
    has_one = (x - largest).exp().sum(dim, keepdim=True) <= 1 + SUM_MOST
    lost = torch.where(has_one | ~total.isfinite(), 0.0, torch.nan)
    return made * (1 + torch.where(moved <= SUM_MOST, moved * rough.part(total), lost))


def _composed(rough: Rough, func: Any, made: Tensor, *_: Any, **__: Any) -> Tensor:
    """Triton does not have these functions; honest kernels compose them of exp and log: log(1 + exp(x)), exp(x) - 1,
    2 sigmoid(2 x) - 1. A small result then has an error as large as the rounding error of 1: tanh(1e-9) may be 0."""
    is_sure = rough.is_exact(made) & ((made == 0) | (made.abs() >= 1))
    return torch.where(is_sure, made, made + rough.narrow_eps * COMPOSED_EPS * rough.side(made))


def _quotient(rough: Rough, func: Any, made: Tensor, *args: Any, rounding_mode: str | None = None) -> Tensor:
    """x * (1 / y) need not be x / y where that is exact, and a GPU's division in Triton is off by up to two units. A
    whole number is exact where only whole numbers are divided, as indices are: others are whole by chance."""
    if rounding_mode:
        return made
    divided = [one for one in map(torch.as_tensor, args) if one.is_floating_point()]
    is_whole = all(bool((one == one.round()).all()) for one in divided)
    return _divided(rough, made, args[-1], (made == made.round()) & is_whole, rough.part(made))


def _mean(rough: Rough, func: Any, made: Tensor, x: Tensor, *_: Any, **__: Any) -> Tensor:
    if not made.numel():
        return made
    return _divided(rough, made, x.numel() / made.numel(), made == made.round(), rough.part(made).sign())


def _divided(rough: Rough, made: Tensor, divisor: Tensor | float, is_sure: Tensor, part: Tensor) -> Tensor:
    """A quotient with `part` of a rounding error also where it is exact: a number of halves may be rounded up or down.
    Not where it is sure (a whole number may be an index, which is exact), and not by a power of two."""
    mantissa, _ = torch.frexp(torch.as_tensor(divisor, dtype=made.dtype, device=made.device))
    is_sure = is_sure | (mantissa.abs() == 0.5) | ~rough.is_exact(made)
    return torch.where(is_sure, made, made * (1 + rough.narrow_eps * part))


def _variance(
    rough: Rough, func: Any, x: Tensor, dim: list[int] | None = None, *, correction: float | None = None,
    keepdim: bool = False,
) -> Any:  # fmt: skip
    """About a mean that was rounded, as in a kernel. Of equal numbers the square of that error remains. The outputs of
    other operators that subtract a mean (standard deviations, normalisations) move in proportion to their inputs."""
    if x.dtype != torch.float64 or func._overloadname != "correction":
        return None
    x = rough.read(x)
    dims = dim or list(range(x.dim()))
    mean = x.mean(dims, keepdim=True)
    count = x.numel() / max(mean.numel(), 1)
    rounded = rough.read(_divided(rough, mean, count, mean == 0, rough.part(mean).sign()))
    variance = (x - rounded).square_().sum(dims, keepdim) if count > 1 else 0.0 * x.sum(dims, keepdim)
    variance /= max(0.0, count - (1.0 if correction is None else correction))
    if operator_name(func) == "var":
        return variance
    return variance, mean if keepdim else mean.reshape(variance.shape)


def _in_another_order(rough: Rough, func: Any, made: Any, *args: Any, **kwargs: Any) -> Any:
    """A product (or several, or None for one that was not asked for) with the rounding error of its partial sums, which
    may be larger than their total. Kernels for half precision keep them in float32, which holds all digits only if it
    holds those of the same product of absolute values: a total that nearly cancels has few."""
    factors = FACTORS[operator_name(func)]
    sizes = func(*(one if not isinstance(one, Tensor) else one.abs() if at in factors else torch.zeros_like(one)
                   for at, one in enumerate(args)), **kwargs)  # fmt: skip

    def moved(one: Tensor | None, size: Tensor) -> Tensor | None:
        if one is None:
            return None
        is_sure = rough.is_exact(one) & _is_held(size, torch.float32)
        return torch.where(is_sure, one, one + rough.narrow_eps * rough.part(one) * size)

    return tree_map(moved, made, sizes)


def _factors_in_another_order(rough: Rough, func: Any, made: Tensor, x: Tensor, *rest: Any, **named: Any) -> Tensor:
    """A kernel that multiplies large factors first has infinity, or NaN, where their product is past float32's range
    and small factors or a zero come later."""
    largest = func(x.abs().clamp_(min=1.0), *rest, **named)
    return made.where(largest <= torch.finfo(torch.float32).max, torch.nan)


FACTORS = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot", "convolution"), (0, 1)),
    **dict.fromkeys(("addmm", "baddbmm", "addbmm", "addmv"), (1, 2)),
    **dict.fromkeys(("_trilinear", "convolution_backward"), (0, 1, 2)),
}
"""The positions of a product's factors among an operator's arguments. The other tensors are added. `F.bilinear` calls
`_trilinear`."""

SUM_MOST = 2.0**-7
"""Largest error of a row's sum that a kernel may make by rounding its logarithm: scores of 65,000 in float32."""

COMPOSED_EPS = 0.5
"""The error of composed functions here, in eps of 1. A kernel may be off by 16 times that
(`elementwise.EXPLAINED_ELSEWHERE`), which is eight eps. A kernel in float32 is off by one eps, and by two or three if
the GPU's exponential is off by two units."""


PRODUCTS = "factors in another order"
"""The row of operators whose result may overflow in another order."""


@dataclass(frozen=True)
class Row:
    """Operators that honest kernels compute in another way, which is the same in exact arithmetic.

    instead: computes an operator; None where the row does not apply. after: gives a result in float64 further errors.
    """

    operators: frozenset[str]
    instead: Callable[..., Any] | None = None
    after: Callable[..., Any] | None = None


ROWS = {
    "scores that are computed twice": Row(
        frozenset({"_softmax", "_safe_softmax", "_log_softmax", "logsumexp"}), instead=_twice
    ),
    "the saved logarithm of a sum": Row(frozenset({"_softmax", "_safe_softmax"}), after=_saved_sum),
    "functions composed of others": Row(frozenset({"softplus", "log1p", "expm1", "tanh"}), after=_composed),
    "a product with a reciprocal": Row(frozenset({"div", "reciprocal"}), after=_quotient),
    "a mean by division": Row(frozenset({"mean"}), after=_mean),
    "a variance about a rounded mean": Row(frozenset({"var", "var_mean"}), instead=_variance),
    "sums of products in another order": Row(frozenset(FACTORS), after=_in_another_order),
    PRODUCTS: Row(frozenset({"prod", "cumprod"}), after=_factors_in_another_order),
}
"""All that is computed in another way. Every other operator has the errors of what it reads. Without any one row an
honest kernel is refused (`tests/worker/judge/test_rows.py`)."""
