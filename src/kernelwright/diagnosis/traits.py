"""Traits of a problem, which decide which moves fit: derived from its operators, sizes, dtypes and device.

A trait is missing only where these facts rule it out. Where the operators are not known, the problem has every
trait.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from kernelwright.devices import TARGETS
from kernelwright.diagnosis.figures import HALF
from kernelwright.model import CaseInfo, ProblemInfo, TensorSpec, bits


class Trait(enum.StrEnum):
    """A property of a problem."""

    LOOPS = "loops"
    """An output element depends on more than the elements at its own position."""
    REDUCES = "reduces"
    """Some reduction or scan is not a product of two matrices, which tensor cores would reduce."""
    OVERLAPS = "overlaps"
    """Neighbouring outputs share inputs: matrix products and windows."""
    TENSOR_CORES = "tensor_cores"
    """Products of two matrices in a dtype in which tensor cores are exact, or with TF32 allowed."""
    ZEROS = "zeros"
    """Some terms are known to be zero: padding, strides of a transposed window, masks, triangles."""
    FUNCTIONS = "functions"
    """It computes quotients, roots, exponentials or similar functions."""
    EXPONENTIALS = "exponentials"
    """Sums of exponentials."""
    COPY_ENGINE = "copy_engine"
    """The device copies tiles through descriptors, and the rows of some timed input are a multiple of 16 bytes."""
    SHORT = "short"
    """Some timed case has a bound so short that the launch is a relevant part of the time."""


WINDOWS = ("conv", "pool", "fold", "im2col", "col2im", "upsample")
"""Name parts of operators whose outputs see overlapping windows of an input."""
MASKS = ("pad", "tril", "triu", "mask", "where", "attention")
"""Name parts of operators with terms that are known to be zero."""
SOFTMAXES = ("softmax", "logsumexp", "logcumsumexp", "attention", "cross_entropy")
"""Name parts of operators that sum exponentials."""
PLAIN = frozenset(
    {
        "add", "sub", "rsub", "mul", "neg", "abs", "sign", "relu", "leaky_relu", "threshold", "clamp", "clamp_min",
        "clamp_max", "hardtanh", "maximum", "minimum", "where", "eq", "ne", "lt", "le", "gt", "ge", "bitwise_and",
        "bitwise_or", "bitwise_xor", "bitwise_not", "logical_and", "logical_or", "logical_not", "lshift", "rshift",
        "sum", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all", "cumsum", "cummax", "cummin", "sort",
        "topk", "gather", "index", "index_select", "embedding", "tril", "triu", "masked_fill",
        "max_pool2d_with_indices", "max_pool3d_with_indices", "constant_pad_nd",
    }
)  # fmt: skip
"""Operators without a quotient, a root or an exponential. Any other operator counts as having one."""

SHORT_US = 100.0
"""Bound in µs below which a case is short. A Triton launch takes the host 9 µs (docs/evaluation.md), which is then a
tenth or more."""
COPY_ENGINE_CAPABILITY = 90
"""First compute capability with TMA, Hopper's (CUDA C++ Programming Guide, "Tensor Memory Access")."""
ROW_BYTES = 16
"""Strides of a tensor descriptor are multiples of this (the same guide)."""


def traits(info: ProblemInfo, target: str) -> frozenset[Trait]:
    """The traits of a problem. target: the compilation target of its kernels, such as "sm_90"."""
    if not info.kinds:
        return frozenset(Trait)
    timed = [one for one in info.cases if one.case.timed]
    working = {name.strip("_"): kind for name, kind in info.kinds.items() if kind != "copy"}
    found = set(working.values())
    sums = "other" in found
    exponentials = named(working, SOFTMAXES) or (sums and "exp" in working)
    holds = {
        Trait.LOOPS: bool(found - {"pointwise"}),
        Trait.REDUCES: bool(found & {"other", "vector product"}),
        Trait.OVERLAPS: bool(found & {"product", "vector product"}) or named(working, WINDOWS),
        Trait.TENSOR_CORES: "product" in found and (info.precision == "tf32" or any(map(is_half, timed))),
        Trait.ZEROS: named(working, (*WINDOWS, *MASKS)),
        Trait.FUNCTIONS: any(
            name not in PLAIN for name, kind in working.items() if kind in ("pointwise", "other")
        ) or exponentials,
        Trait.EXPONENTIALS: exponentials,
        Trait.COPY_ENGINE: has_copy_engine(target) and any(map(has_aligned_rows, timed)),
        Trait.SHORT: any(one.bound.bound_us < SHORT_US for one in timed),
    }  # fmt: skip
    return frozenset(trait for trait, is_there in holds.items() if is_there)


def multiplies_float32(info: ProblemInfo) -> bool:
    """Whether some case may multiply float32 matrices, for which `tl.dot` offers several precisions."""
    has_products = not info.kinds or bool({"product", "vector product"} & set(info.kinds.values()))
    specs = [spec for case in info.cases for spec in tensors(case)]
    return has_products and any(spec.dtype == "float32" for spec in specs)


def named(names: Iterable[str], parts: tuple[str, ...]) -> bool:
    return any(part in name for name in names for part in parts)


def is_half(case: CaseInfo) -> bool:
    """Whether its products are in a dtype in which tensor cores are exact."""
    return any(dtype in HALF for dtype in case.bound.flop_by_dtype)


def has_copy_engine(target: str) -> bool:
    known = TARGETS.get(target)
    return known is None or known.capability >= COPY_ENGINE_CAPABILITY


def has_aligned_rows(case: CaseInfo) -> bool:
    rows = [spec.shape[-1] * max(1, bits(spec.dtype) // 8) for spec in tensors(case) if len(spec.shape) > 1]
    return any(row % ROW_BYTES == 0 for row in rows)


def tensors(case: CaseInfo) -> list[TensorSpec]:
    """Its inputs and parameters."""
    return [spec for spec in (*case.inputs, *case.parameters.values()) if isinstance(spec, TensorSpec)]
