"""Arithmetic of sizes in generated code: which expressions are computed from sizes only, and what a sum consists of."""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping


def named(node: ast.expr, expressions: Mapping[str, ast.expr]) -> ast.expr:
    """The expression with names replaced by expressions."""

    class Named(ast.NodeTransformer):
        def visit_Name(self, one: ast.Name) -> ast.expr:
            return expressions.get(one.id, one)

    made: ast.expr = Named().visit(node)
    return made


def is_size(node: ast.expr, names: Container[str]) -> bool:
    """Whether an expression is computed from known names only."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Constant(value=int()):
            return True
        case ast.BinOp(left=left, right=right):
            return is_size(left, names) and is_size(right, names)
        case ast.UnaryOp(operand=operand):
            return is_size(operand, names)
        case ast.Call(func=ast.Name(id="max" | "min"), args=args):
            return all(is_size(one, names) for one in args)
        case _:
            return False


def terms_of(node: ast.expr) -> list[ast.expr]:
    """The terms of a sum."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [*terms_of(left), *terms_of(right)]
        case _:
            return [node]


def factors_of(node: ast.expr) -> list[ast.expr]:
    """The factors of a product."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*factors_of(left), *factors_of(right)]
        case _:
            return [node]
