"""Finds the source text of functions and classes that cannot be imported, because they were defined in a script, a
notebook or another function.

The text comes from `linecache`, where Python stores it for tracebacks, including the cells of a notebook.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import linecache
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kernelwright.errors import ProblemError


def source_of(value: Callable[..., Any]) -> str:
    """The statement that defines a class, or a function without its decorators, or a lambda's expression; raises
    `ProblemError` if the text is not available.

    A decorated function is the one that the decorator returned: its definition is in the decorator, and the function
    that it calls is in its closure.
    """
    code = next((code for code in _codes_of(value) if linecache.getlines(code.co_filename)), None)
    if code is None and isinstance(value, type):
        with contextlib.suppress(OSError, TypeError):  # a class without methods
            return textwrap.dedent(inspect.getsource(value))
    if code is None:
        raise ProblemError(
            f"the source of {value.__qualname__} is not available", "define it in a file or a notebook cell"
        )
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError as error:
        raise ProblemError(f"{code.co_filename} is not Python any more: {error}", "run it again") from error
    found = [node for node in ast.walk(tree) if _defines(node, value, code)]
    if len(found) != 1:
        raise ProblemError(
            f"{code.co_filename}, line {code.co_firstlineno}: {len(found)} definitions of {value.__qualname__} there, "
            "expected one",
            "write a lambda on a separate line, or as a def" if found else "run the file again: it was changed",
        )
    if isinstance(found[0], ast.FunctionDef):
        found[0].decorator_list = []
    return ast.unparse(found[0])


def factory(name: str, value: types.FunctionType, text: str, enclosed: Mapping[str, str]) -> str:
    """Statements that define the function `name`. text: as `source_of` gives it. enclosed: expressions of the
    variables of enclosing functions that it uses, by name."""
    own, is_lambda = value.__code__.co_name, value.__code__.co_name == "<lambda>"
    if not enclosed and (is_lambda or own == name):
        return f"{name} = {text}" if is_lambda else text
    body = textwrap.indent(f"return {text}" if is_lambda else f"{text}\nreturn {own}", "    ")
    given = ", ".join(f"{key}={one}" for key, one in enclosed.items())
    return f"def make_{name}({', '.join(enclosed)}):\n{body}\n\n\n{name} = make_{name}({given})"


def names_used(text: str) -> list[str]:
    """Names of globals and builtins that `text`, or the functions and classes that it defines, look up; sorted."""
    codes = [compile(f"from __future__ import annotations\n{text}", "<definition>", "exec", dont_inherit=True)]
    found: set[str] = set()
    for code in codes:  # which grows
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
        found |= {str(one.argval) for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return sorted(found)


def names_around(value: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Variables of enclosing functions that `value` uses, and the globals of the module that defines it, by name."""
    functions = [*map(inspect.unwrap, _methods(value))] if isinstance(value, type) else [value]
    closure: dict[str, Any] = {}
    for function in functions:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        for name, cell in cells:
            with contextlib.suppress(ValueError):  # not filled yet
                closure[name] = cell.cell_contents
    around = vars(sys.modules[value.__module__]) if isinstance(value, type) else value.__globals__
    return {name: one for name, one in closure.items() if name != "__class__"}, around


def _codes_of(value: Callable[..., Any]) -> Iterator[types.CodeType]:
    for function in map(inspect.unwrap, _methods(value)) if isinstance(value, type) else (value,):
        if code := getattr(function, "__code__", None):
            yield code


def _methods(kind: type) -> Iterator[Any]:
    """Functions defined in the class's own body."""
    for value in vars(kind).values():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(function, types.FunctionType):
            name = inspect.unwrap(function).__qualname__
            yield from [function] * name.startswith(kind.__qualname__)


def _defines(node: ast.AST, value: Callable[..., Any], code: types.CodeType) -> bool:
    """Whether a node defines `value`. code: of it, or of a method."""
    line = code.co_firstlineno
    if isinstance(node, ast.ClassDef):
        is_around = node.lineno <= line <= (node.end_lineno or 0)
        return isinstance(value, type) and node.name == value.__name__ and is_around
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == line
    if isinstance(value, type) or not isinstance(node, ast.FunctionDef):
        return False
    first: list[ast.stmt | ast.expr] = [node, *node.decorator_list]
    return node.name == code.co_name and min(one.lineno for one in first) == line
