"""Counting with symbols of sizes: functions of PyTorch and Python that would make numbers of them."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sympy
import torch
from sympy.core.cache import clear_cache
from torch import SymFloat, SymInt, Tensor
from torch.fx.experimental import proxy_tensor
from torch.fx.experimental.sym_node import SymNode
from torch.nn.modules.utils import _single
from torch.utils._sympy.functions import FloorDiv, IntTrueDiv, OpaqueUnaryFn_sqrt, PowByNatural, ToFloat

from kernelwright.worker.generate.replacing import replaced
from kernelwright.worker.generate.symbols import Symbols
from kernelwright.worker.reference import load


def _counting(symbols: Symbols) -> dict[str, Any]:
    """Functions of Python that make numbers of symbols: of the limits of `range` only the number of steps remains, such
    as the chunks of a sequence, and `int` of a fraction is a size, such as the width `int(dim * 4.0)` of a layer."""

    def steps(*limits: Any) -> Sequence[Any]:
        if not any(isinstance(one, SymInt) for one in limits):
            return range(*limits)
        start, stop, step = limits if len(limits) == 3 else (*limits, 1) if len(limits) == 2 else (0, *limits, 1)
        return [start + place * step for place in range(-int((start - stop) // step))]

    class Whole(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, int)

        def __call__(cls, *given: Any) -> Any:
            return symbols.whole(*given) if isinstance(given[0] if given else 0, SymFloat) else int(*given)

    return {"range": steps, "int": Whole("int", (), {})}


@contextmanager
def counting_with_symbols(symbols: Symbols) -> Iterator[None]:
    """Inside, functions that count with sizes keep their symbols: a stride is not `max(1, side)`, a root stays a root,
    a side after a window is a symbol, and the initial values of parameters, which no kernel reads, need no size."""

    def larger(own: Any) -> Any:
        return lambda node, other: node if other.maybe_as_int() == 1 else own(node, other)

    def root(own: Any) -> Any:
        return lambda x: torch.sym_sqrt(x) if isinstance(x, SymInt | SymFloat) else own(x)

    def divided(own: Any) -> Any:
        def quotient(kind: Any, dividend: Any, divisor: Any) -> Any:
            found = own(kind, dividend, divisor)
            number, rest = dividend.as_coeff_Add()
            is_side = divisor == 1 and number < -1 and isinstance(rest, sympy.Symbol)  # after a window of stride 1
            return (symbols.quotient(dividend, divisor) if found is None or is_side else None) or found

        return quotient

    def pooled(
        x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        """The maximum over windows along one side, for which torch wants a number, as that along two."""
        given = (kernel_size, stride or kernel_size, padding, dilation)
        size, step, added, apart = ((other, *_single(one)[:1]) for one, other in zip(given, (1, 1, 0, 1), strict=True))
        return torch.max_pool2d(x.unsqueeze(-2), size, step, added, apart, ceil_mode).squeeze(-2)

    def in_file(own: Any) -> Any:
        def executed(*args: Any) -> Any:
            module = own(*args)
            vars(module).update({name: one for name, one in _counting(symbols).items() if not hasattr(module, name)})
            return module

        return executed

    def rebuilt(own: Any) -> Any:
        return lambda: {**own(), **OPERATORS}

    numbers.Integral.register(SymInt)  # torch.nn asks whether a size is one
    clear_cache()  # sympy keeps quotients of earlier symbols
    changes = (
        (FloorDiv, "eval", divided), (SymNode, "sym_max", larger), (math, "sqrt", root),
        (torch, "max_pool1d", lambda own: pooled),
        (torch.nn.init, "_calculate_fan_in_and_fan_out", lambda own: lambda tensor: (FAN, FAN)),
        (torch.nn.init, "_calculate_correct_fan", lambda own: lambda tensor, mode: FAN),
        (proxy_tensor, "_sympy_handlers", rebuilt), (load, "execute", in_file),
        (vars(torch.nn.modules.rnn), "int", lambda _: int | SymInt),  # it asks whether a size is one
    )  # fmt: skip
    with replaced(
        *(one for one in changes if isinstance(one[0], dict) or hasattr(*one[:2]))
    ):  # torch before 2.13 has no `_sympy_handlers`
        try:
            yield
        finally:
            clear_cache()


OPERATORS = {
    ToFloat: torch.sym_float, IntTrueDiv: operator.truediv, PowByNatural: operator.pow, sympy.Pow: operator.pow,
    OpaqueUnaryFn_sqrt: torch._sym_sqrt,  # type: ignore[attr-defined]
}  # fmt: skip
"""For numbers that a constructor computed, such as `head_dim ** -0.5`, when forward is traced: torch computes them from
the symbols again, but does not know these."""

FAN = 16
"""In place of the inputs and outputs of a layer, by which initial values are scaled."""
