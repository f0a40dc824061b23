"""Choices that Inductor makes by sizes, made for symbols as for their values at the captured size.

Whether a reduction keeps its rows in one piece, is split into parts, or computes a softmax in one loop changes the
speed of a kernel and not its result. Inductor answers them cautiously for symbols.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import sympy
from torch._inductor import inductor_prims, ir
from torch._inductor.choices import InductorChoices
from torch._inductor.codegen.simd import SIMDKernel
from torch._inductor.codegen.triton import TritonKernel
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.lowering import lowerings
from torch._inductor.scheduler import Scheduler
from torch._inductor.sizevars import SizeVarAllocator
from torch._inductor.virtualized import V

from kernelwright.worker.generate.replacing import replaced
from kernelwright.worker.generate.symbols import Symbols, values_of


@contextmanager
def choosing_by_hints(symbols: Symbols) -> Iterator[None]:
    """Inside, Inductor chooses for the symbols as for their values."""

    def number(expression: Any) -> sympy.Integer:
        return sympy.Integer(symbols.hint(expression))

    def persistent(own: Any) -> Any:
        @functools.wraps(own)
        def answer(features: Any, *others: Any) -> Any:
            sized = copy.copy(features)
            sized.reduction_numel, sized.numel = number(features.reduction_numel), number(features.numel)
            return own(sized, *others)

        return answer

    def splits(own: Any) -> Any:
        def answer(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(own).bind(*args, **kwargs)
            given = bound.arguments
            for name in ("ranges", "reduction_ranges"):
                given[name] = [*map(number, given[name])]
            given["reduction_numel"] = number(given["reduction_numel"])
            return own(*bound.args, **bound.kwargs)

        return answer

    def in_parts(own: Any) -> Any:
        def made(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(own).bind(*args, **kwargs)
            count, length = bound.arguments["split"], sympy.sympify(sympy.prod(bound.arguments["reduction_ranges"]))
            if isinstance(count, int) and length.free_symbols and count > FEW_PARTS:
                bound.arguments["split"] = symbols.splits_in(length, count)
            return own(*bound.args, **bound.kwargs)

        return made

    def second_step(own: Any) -> Any:
        return lambda split, *others: own(int(number(split)), *others)

    def width(own: Any) -> Any:
        return lambda length: own(number(length))

    def in_one_loop(own: Any) -> Any:
        def lowered(*args: Any, **kwargs: Any) -> Any:
            def known(own_test: Any) -> Any:
                return lambda allocator, left, right: symbols.hint(left) >= right

            with replaced(SizeVarAllocator, "statically_known_geq", known):
                return own(*args, **kwargs)

        return lowered

    def broadcasted(own: Any) -> Any:
        def answer(kernel: Any, index: Any) -> Any:
            with replaced(SizeVarAllocator, "simplify", lambda own: lambda allocator, size: number(size)):
                return own(kernel, index)

        return answer

    with ExitStack() as stack:
        stack.enter_context(replaced(SizeVarAllocator, "guard_int_seq", _without_channels))
        stack.enter_context(replaced(InductorChoices, "should_use_persistent_reduction", persistent))
        stack.enter_context(replaced(ir.Reduction, "num_splits", splits))
        for kind in (ir.Reduction, ir.WelfordReduction, ir.OnlineSoftmaxReduction):
            if "create_multilayer" in vars(kind):
                stack.enter_context(replaced(kind, "create_multilayer", in_parts))
        stack.enter_context(replaced(ir.Reduction, "_multilayer_second_step_hint", second_step))
        stack.enter_context(replaced(SIMDKernel, "is_broadcasted", broadcasted))
        stack.enter_context(replaced(TritonKernel, "_get_persistent_RBLOCK", width))
        stack.enter_context(replaced(PythonWrapperCodegen, "codegen_inputs", lambda own: lambda wrapper: None))
        stack.enter_context(replaced(Scheduler, "fusable_read_and_write", _of_expanded))
        softmax: Any = getattr(inductor_prims, "prepare_softmax_online", None)
        if softmax in lowerings:
            stack.callback(lowerings.__setitem__, softmax, lowerings[softmax])
            lowerings[softmax] = in_one_loop(lowerings[softmax])
        yield


def _of_expanded(own: Any) -> Any:
    """Whether a read can be fused with a write, by their indices multiplied out."""
    return lambda scheduler, read, write, **others: own(scheduler, _expanded(read), _expanded(write), **others)


def _without_channels(own: Any) -> Any:
    """Numbers for the window of a weight of a convolution, whose channels stay symbols."""
    return lambda allocator, sizes: (
        [*sizes[:2], *own(allocator, sizes[2:])] if len(sizes) > 2 else own(allocator, sizes)
    )


def value_of(size: Any) -> int:
    """A size's value at the captured size, while Inductor lowers a graph."""
    env = V.graph.sizevars.shape_env
    return int(env.replace(sympy.sympify(size)).xreplace(values_of(env)))


FEW_PARTS = 64
"""Up to this number of parts, a reduction has the same number at all sizes: Triton's interpreter runs as many programs
in less than a second (10 ms each for the sum of KernelBench's level 1, 98)."""


def _expanded(dep: Any) -> Any:
    """A dependency whose index is multiplied out, so that two equal ones are found equal."""
    index = getattr(dep, "index", None)
    if not isinstance(index, sympy.Expr) or not hasattr(dep, "var_names"):
        return dep
    return type(dep)(dep.name, sympy.expand(index), dep.var_names, tuple(map(sympy.expand, dep.size)), dep.mode)
