"""Arithmetic of sizes in generated code, as expressions of Python."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelwright.inductor.faults import NotConverted

OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "int": int, "max": max, "min": min, "float": float, "triton.cdiv": lambda one, other: -(-one // other),
}  # fmt: skip


def value_of(node: ast.expr, values: Mapping[str, int | float]) -> Any:
    """The number that an expression is with these values of its names. Nothing else is computed: the text may be that
    of a candidate, which is not trusted. Raises `NotConverted` for what is no arithmetic of numbers."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -value_of(operand, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            base = value_of(left, values)
            if isinstance(base, float) or not isinstance(op, ast.Pow):  # a power of large whole numbers has no end
                return OPERATORS[type(op)](base, value_of(right, values))
        case ast.Call(func=func, args=args, keywords=[]) if (name := ast.unparse(func)) in FUNCTIONS:
            return FUNCTIONS[name](*(value_of(one, values) for one in args))
        case _:
            pass
    raise NotConverted(f"sizes that are more than arithmetic: {ast.unparse(node)[:120]}")


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def named(node: ast.expr, expressions: Mapping[str, ast.expr]) -> ast.expr:
    """The expression with names replaced by expressions."""

    class Named(ast.NodeTransformer):
        def visit_Name(self, one: ast.Name) -> ast.expr:
            return expressions.get(one.id, one)

    made: ast.expr = Named().visit(node)
    return made


def names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def terms_of(node: ast.expr, kind: type[ast.operator] = ast.Add) -> list[ast.expr]:
    """The terms of a sum, or the operands of another operator."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, kind):
            return [*terms_of(left, kind), *terms_of(right, kind)]
        case _:
            return [node]


def factors_of(node: ast.expr) -> list[ast.expr]:
    return terms_of(node, ast.Mult)


def joined(nodes: Sequence[ast.expr], kind: type[ast.operator]) -> ast.expr:
    """The sum of terms, or another operator of its operands."""
    return functools.reduce(lambda one, other: ast.BinOp(one, kind(), other), nodes)
