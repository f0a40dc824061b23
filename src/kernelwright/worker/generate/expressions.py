"""Sizes as Python expressions of the host code."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import sympy
from torch.utils._sympy.printers import PythonPrinter

FUNCTIONS = {"int", "float", "abs", "max", "min", "triton.cdiv"}
"""What the host code may call in an expression."""


class _Printer(PythonPrinter):
    """Without functions of torch and of `math`."""

    def __init__(self, names: Mapping[sympy.Symbol, str]) -> None:
        super().__init__()
        self._names = names

    def _print_Symbol(self, one: sympy.Symbol) -> str:  # noqa: N802 - sympy's names
        return self._names.get(one, one.name)

    def _print_OpaqueUnaryFn_sqrt(self, one: Any) -> str:  # noqa: N802
        return f"({self._print(one.args[0])}) ** 0.5"

    def _print_TruncToInt(self, one: Any) -> str:  # noqa: N802
        return f"int({self._print(one.args[0])})"

    def _print_floor(self, one: Any) -> str:
        return f"int({self._print(one.args[0])} // 1)"

    def _print_ceiling(self, one: Any) -> str:
        return f"-int(-({self._print(one.args[0])}) // 1)"

    def _print_FloorToInt(self, one: Any) -> str:  # noqa: N802
        return self._print_floor(one)

    def _print_CeilToInt(self, one: Any) -> str:  # noqa: N802
        return self._print_ceiling(one)

    def _print_ToFloat(self, one: Any) -> str:  # noqa: N802
        return f"float({self._print(one.args[0])})"

    def _print_Float(self, one: Any) -> str:  # noqa: N802
        return repr(float(one))

    def _print_CeilDiv(self, one: Any) -> str:  # noqa: N802
        return f"triton.cdiv({self._print(one.args[0])}, {self._print(one.args[1])})"


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
