"""Thread-safe `ast.parse`, and one-line messages for syntax errors.

The whole package parses through this file. Several threads (trials, worker requests) parse at the same time, and
CPython 3.11 then sometimes raises "SystemError: AST constructor recursion depth mismatch".
"""

from __future__ import annotations

import ast
import threading
from typing import Any, Literal, TypeVar, overload

Node = TypeVar("Node", bound=ast.AST)

_turn = threading.Lock()

DEEPEST = 200
"""Maximum depth of an AST. With Python's usual recursion limit `ast.unparse` fails at about 330 levels."""


def parse(source: str) -> ast.Module:
    """Raises `SyntaxError`, also for code that is nested too deeply, and `ValueError` for a zero byte."""
    return _shallow(source, "exec")


def parse_expression(source: str) -> ast.expr:
    """Raises the errors of `parse`."""
    return _shallow(source, "eval").body


@overload
def _shallow(source: str, mode: Literal["exec"]) -> ast.Module: ...


@overload
def _shallow(source: str, mode: Literal["eval"]) -> ast.Expression: ...


def _shallow(source: str, mode: Literal["exec", "eval"]) -> ast.Module | ast.Expression:
    """The AST, if it is shallow enough for recursive visitors."""
    try:
        with _turn:
            tree: ast.Module | ast.Expression = ast.parse(source) if mode == "exec" else ast.parse(source, mode="eval")
    except (RecursionError, MemoryError) as error:
        raise SyntaxError("nested too deeply to be parsed") from error
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise SyntaxError(f"nested deeper than {DEEPEST} levels")


def complaint(error: SyntaxError, file: object = None) -> str:
    """The error message, after the file and the line where they are known: a zero byte has no line."""
    places = [*([str(file)] if file is not None else []), *([f"line {error.lineno}"] if error.lineno else [])]
    return ": ".join(filter(None, [", ".join(places), error.msg or type(error).__name__]))


def copied(node: Node) -> Node:
    """A copy of a node and all nodes below it, with fields and positions. Many times faster than `copy.deepcopy`, which
    looks for shared objects."""
    made = type(node).__new__(type(node))
    vars(made).update({name: _value(value) for name, value in vars(node).items()})
    return made


def _value(value: Any) -> Any:
    if isinstance(value, ast.AST):
        return copied(value)
    return [_value(one) for one in value] if isinstance(value, list) else value
