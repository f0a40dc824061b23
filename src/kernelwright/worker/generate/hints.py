"""Choices that Inductor makes by sizes, made for symbols as for their values at the captured size.

Whether a reduction keeps its rows in one piece, is split into parts, or computes a softmax in one loop changes the
speed of a kernel and not its result. Inductor answers them cautiously for symbols.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sympy
from torch._inductor import inductor_prims, ir, tiling_utils
from torch._inductor.choices import InductorChoices
from torch._inductor.codegen.simd import SIMDKernel
from torch._inductor.codegen.triton import TritonKernel
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.dependencies import MemoryDep
from torch._inductor.lowering import lowerings
from torch._inductor.runtime.hints import ReductionHint
from torch._inductor.scheduler import Scheduler
from torch._inductor.sizevars import SizeVarAllocator
from torch._inductor.virtualized import V

from kernelwright.worker.generate.replacing import given_other, replaced, while_replaced
from kernelwright.worker.generate.symbols import MOST_OFFSET, Symbols, values_of
from kernelwright.worker.generate.told import whole_quotient

MOST_IN_ROW = 1 << 15
"""Numbers of a row that 1,024 threads keep, 32 in each. With 64 in each, a norm of rows of 65,535 took 17.97 ms, and in
two loops 9.37 (H200)."""


@contextmanager
def whole_rows() -> Iterator[None]:
    """Inside, Inductor reduces rows of at most MOST_IN_ROW numbers in one piece, so that a kernel which needs a row
    twice reads it once.

    Inductor keeps rows of up to 1,024 numbers in registers, and loops over longer ones as often as the computation
    needs them: for x / x.norm(dim=1) twice. Whether one piece is faster depends on the kernel, so it is one more
    candidate."""

    def whole(own: Any) -> Any:
        def is_whole(features: Any, *others: Any) -> bool:
            is_row = features.get_reduction_hint() is ReductionHint.INNER
            return bool(own(features, *others)) or (is_row and int(features.reduction_numel) <= MOST_IN_ROW)

        return is_whole

    with replaced((InductorChoices, "should_use_persistent_reduction", whole)):
        yield


@contextmanager
def choosing_by_hints(symbols: Symbols) -> Iterator[None]:
    """Inside, Inductor chooses for the symbols as for their values."""

    def number(expression: Any) -> sympy.Integer:
        return sympy.Integer(symbols.hint(expression))

    def in_numbers(given: dict[str, Any], *names: str) -> None:
        for name in names:
            one = given[name]
            given[name] = [*map(number, one)] if isinstance(one, list | tuple) else number(one)

    def features(given: dict[str, Any]) -> None:
        given["features"] = copy.copy(given["features"])
        in_numbers(vars(given["features"]), "reduction_numel", "numel")

    def split(given: dict[str, Any]) -> None:
        count, length = given["split"], sympy.sympify(sympy.prod(given["reduction_ranges"]))
        if isinstance(count, int) and length.free_symbols and count > FEW_PARTS:
            given["split"] = symbols.splits_in(length, count)

    softmax: Any = getattr(inductor_prims, "prepare_softmax_online", None)
    in_one_loop = while_replaced(
        SizeVarAllocator, "statically_known_geq", lambda _, left, right: symbols.hint(left) >= right
    )
    with replaced(
        (SizeVarAllocator, "guard_int_seq", _without_channels),
        (SizeVarAllocator, "statically_known_multiple_of", _divided),
        (SIMDKernel, "get_strides_of_load", _strides_in_numbers),
        (ir.Layout, "is_stride_ordered", _ordered_in_numbers),
        (tiling_utils, "find_coalesced_var", given_other(_coalesced_in_numbers)),
        (InductorChoices, "should_use_persistent_reduction", given_other(features)),
        (ir.Reduction, "num_splits",
         given_other(lambda given: in_numbers(given, "ranges", "reduction_ranges", "reduction_numel"))),
        *((kind, "create_multilayer", given_other(split))
          for kind in (ir.Reduction, ir.WelfordReduction, ir.OnlineSoftmaxReduction)
          if "create_multilayer" in vars(kind)),
        (ir.Reduction, "_multilayer_second_step_hint", given_other(lambda given: in_numbers(given, "split"))),
        (SIMDKernel, "is_broadcasted",
         while_replaced(SizeVarAllocator, "simplify", lambda _, size: number(size))),
        (TritonKernel, "_get_persistent_RBLOCK", given_other(lambda given: in_numbers(given, "rnumel"))),
        (PythonWrapperCodegen, "codegen_inputs", lambda own: lambda wrapper: None),
        (Scheduler, "fusable_read_and_write", given_other(_expanded)),
        *([(lowerings, softmax, in_one_loop)] if softmax in lowerings else []),
        *([(SizeVarAllocator, "check_leq", _below_offsets)] if hasattr(SizeVarAllocator, "check_leq") else []),
    ):  # fmt: skip
        yield


def _coalesced_in_numbers(given: dict[str, Any]) -> None:
    """Which index is adjacent in memory. Inductor takes one that is a term of its own for it: of
    `n0*h*w + n0*w + n0 + n1`, symbols that are multiplied out, that would be n0."""
    given["index"] = _in_numbers(given["index"])


def _divided(own: Any) -> Any:
    """Inductor does not divide sums of products, such as the image `(height + 2) * (width + 2)` behind the numbers of
    all images. What it cannot divide is not tiled."""

    def is_multiple(allocator: Any, numerator: Any, denominator: Any) -> bool:
        if own(allocator, numerator, denominator):
            return True
        numerator, denominator = map(sympy.sympify, (numerator, denominator))
        return bool(denominator.free_symbols) and whole_quotient(numerator, denominator) is not None

    return is_multiple


def _below_offsets(own: Any) -> Any:
    """Nothing is derived from what the host code checks itself: sums of products took PyTorch seconds each."""
    return lambda allocator, left, right: None if right == MOST_OFFSET else own(allocator, left, right)


def _strides_in_numbers(own: Any) -> Any:
    return lambda kernel, index: {name: _in_numbers(stride) for name, stride in own(kernel, index).items()}


def _ordered_in_numbers(own: Any) -> Any:
    """torch 2.13 divides strides to compare symbols, and fails where a negative power remains."""

    def is_ordered(layout: Any, order: Any) -> Any:
        size, stride = ([*map(_in_numbers, sides)] for sides in (layout.size, layout.stride))
        return own(ir.FixedLayout(layout.device, layout.dtype, size, stride), order)

    return is_ordered


def _without_channels(own: Any) -> Any:
    """Numbers for the window of a weight of a convolution, whose channels stay symbols."""
    return lambda allocator, sizes: (
        [*sizes[:2], *own(allocator, sizes[2:])] if len(sizes) > 2 else own(allocator, sizes)
    )


def value_of(size: Any) -> int:
    """A size's value at the captured size, while Inductor lowers a graph."""
    return int(_in_numbers(size))


def _in_numbers(expression: Any) -> Any:
    """An expression with the values of sizes at the captured size; indices in it stay."""
    env = V.graph.sizevars.shape_env
    return env.replace(sympy.sympify(expression)).xreplace(values_of(env))


FEW_PARTS = 64
"""Up to this number of parts, a reduction has the same number at all sizes: Triton's interpreter runs as many programs
in less than a second (10 ms each for the sum of KernelBench's level 1, 98)."""


def _expanded(given: dict[str, Any]) -> None:
    """Multiplies out the indices of a read and a write, so that two equal ones are found equal and are fused."""
    for name in ("read", "write"):
        dep = given[name]
        if isinstance(dep, MemoryDep):
            sides = tuple(map(sympy.expand, dep.size))
            given[name] = type(dep)(dep.name, sympy.expand(dep.index), dep.var_names, sides, dep.mode)
