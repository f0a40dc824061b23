"""Sizes as Python expressions of the host code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE
from torch.utils._sympy.printers import PythonPrinter

FUNCTIONS = {"int", "float", "abs", "max", "min", "triton.cdiv"}
"""What the host code may call in an expression."""


LEAST = PRECEDENCE["Mul"] + 1
"""Of what needs no brackets behind a division."""

FORMS = {
    "OpaqueUnaryFn_sqrt": "({}) ** 0.5", "TruncToInt": "int({})", "floor": "int({} // 1)", "FloorToInt": "int({} // 1)",
    "ceiling": "-int(-({}) // 1)", "CeilToInt": "-int(-({}) // 1)", "ToFloat": "float({})",
    "CeilDiv": "triton.cdiv({}, {})",
}  # fmt: skip
"""Functions of sympy and torch, as host code that calls FUNCTIONS only."""


def _form(text: str) -> Callable[[_Printer, Any], str]:
    return lambda printer, one: text.format(*map(printer._print, one.args))


class _Printer(PythonPrinter):
    """Without functions of torch and of `math`."""

    def __init__(self, names: Mapping[sympy.Symbol, str]) -> None:
        super().__init__()
        self._names = names

    def _print_Symbol(self, one: sympy.Symbol) -> str:  # noqa: N802 - sympy's names
        return self._names.get(one, one.name)

    def _print_Float(self, one: Any) -> str:  # noqa: N802
        return repr(float(one))

    def _print_Pow(self, one: Any) -> str:  # noqa: N802 - torch's has no quotients, such as 1 / sqrt(d)
        base, exponent = one.args
        return super()._print_Pow(one) if exponent > 0 else f"(1.0 / {self.parenthesize(base**-exponent, LEAST)})"


for _name, _text in FORMS.items():
    setattr(_Printer, f"_print_{_name}", _form(_text))


def spelled(expression: Any, names: Mapping[sympy.Symbol, str]) -> str:
    """The expression, its products restored: PyTorch multiplies them out. Raises RuntimeError where it has functions
    that the host code has not."""
    if isinstance(expression, sympy.Expr) and expression.free_symbols and expression.is_polynomial():
        expression = sympy.factor(expression)
    found = ast.parse(str(_Printer(names).doprint(expression)), mode="eval")
    called = {ast.unparse(one.func) for one in ast.walk(found) if isinstance(one, ast.Call)}
    if not called <= FUNCTIONS:
        raise RuntimeError(f"the host code has no {', '.join(sorted(called - FUNCTIONS))}")
    return ast.unparse(found)
