"""Thread-safe `ast.parse`, and one-line messages for syntax errors.

All of the package parses with this file. Threads parse at the same time here (trials, requests to a worker), and
on CPython 3.11 that ends now and then in "SystemError: AST constructor recursion depth mismatch".
"""

from __future__ import annotations

import ast
import threading
from typing import Literal, overload

_turn = threading.Lock()

DEEPEST = 200
"""Levels of a tree. With Python's usual recursion limit `ast.unparse` gives up at about 330."""


def parse(source: str) -> ast.Module:
    """Raises `SyntaxError`, also for what is nested too deeply to be worked on, and `ValueError` for a zero byte."""
    return _shallow(source, "exec")


def parse_expression(source: str) -> ast.expr:
    """Raises what `parse` raises."""
    return _shallow(source, "eval").body


@overload
def _shallow(source: str, mode: Literal["exec"]) -> ast.Module: ...


@overload
def _shallow(source: str, mode: Literal["eval"]) -> ast.Expression: ...


def _shallow(source: str, mode: Literal["exec", "eval"]) -> ast.Module | ast.Expression:
    """The tree, no deeper than every visitor can go."""
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
    """What is wrong, after the file and the line, each where there is one: a zero byte has no line."""
    places = [*([str(file)] if file is not None else []), *([f"line {error.lineno}"] if error.lineno else [])]
    return ": ".join(filter(None, [", ".join(places), error.msg or type(error).__name__]))
