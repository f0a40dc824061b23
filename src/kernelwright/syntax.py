"""Python source as a tree, and what its parser says against it. It reads no meaning into it: that is for whoever asked.

The one rule: nobody else calls `ast.parse`. Threads parse at the same time here (trials, requests to a worker), and
on CPython 3.11 that ends now and then in "SystemError: AST constructor recursion depth mismatch".
"""

from __future__ import annotations

import ast
import threading

_turn = threading.Lock()


def parse(source: str) -> ast.Module:
    """Raises what `ast.parse` raises."""
    with _turn:
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """Raises what `ast.parse` raises."""
    with _turn:
        return ast.parse(source, mode="eval").body


def complaint(error: SyntaxError, file: object = None) -> str:
    """What is wrong, after the file and the line, each where there is one: a zero byte has no line."""
    places = [*([str(file)] if file is not None else []), *([f"line {error.lineno}"] if error.lineno else [])]
    return ": ".join(filter(None, [", ".join(places), error.msg or type(error).__name__]))
