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

Definition = ast.FunctionDef | ast.ClassDef | ast.Lambda


def source_of(value: Callable[..., Any]) -> str:
    """The statement that defines a class, or a function without its decorators, or a lambda's expression; raises
    `ProblemError` if the text is not available.

    A decorated function is the one that the decorator returned: its definition is in the decorator, and the function
    that it calls is in its closure.
    """
    code = _code(value)
    if code is None and isinstance(value, type):
        with contextlib.suppress(OSError, TypeError):  # a class without methods
            return textwrap.dedent(inspect.getsource(value))
    lines = linecache.getlines(code.co_filename) if code is not None else []
    if code is None or not lines:
        raise ProblemError(
            f"the source of {value.__qualname__} is not available", "define it in a file or a notebook cell"
        )
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError as error:
        raise ProblemError(f"{code.co_filename} is not Python any more: {error}", "run it again") from error
    found: list[Any] = [node for node in ast.walk(tree) if _defines(node, value, code.co_firstlineno)]
    if not found or (len(found) > 1 and isinstance(found[0], ast.Lambda)):
        raise ProblemError(
            f"{code.co_filename}, line {code.co_firstlineno}: {len(found)} definitions of {value.__qualname__} there, "
            "expected one",
            "write a lambda on a separate line, or as a def" if found else "run the file again: it was changed",
        )
    node = found[-1]  # the innermost
    if isinstance(node, ast.Lambda):
        return ast.unparse(node)
    first = _first_line(node) if isinstance(node, ast.ClassDef) else node.lineno
    return textwrap.dedent("".join(lines[first - 1 : node.end_lineno]))


def factory(name: str, value: types.FunctionType, text: str, enclosed: Mapping[str, str]) -> str:
    """Statements that define the function `name`. text: as `source_of` gives it. enclosed: expressions of the
    variables of enclosing functions that it uses, by name."""
    own = value.__code__.co_name
    if own == "<lambda>" and not enclosed:
        return f"{name} = {text}"
    if own == name and not enclosed:
        return text
    body = f"return {text}" if own == "<lambda>" else f"{ast.unparse(ast.parse(text))}\nreturn {own}"
    given = ", ".join(f"{key}={one}" for key, one in enclosed.items())
    return (
        f"def make_{name}({', '.join(enclosed)}):\n{textwrap.indent(body, '    ')}\n\n\n{name} = make_{name}({given})"
    )


def names_used(text: str) -> list[str]:
    """Names of globals and builtins that `text`, or the functions and classes that it defines, look up; sorted."""
    code = compile(f"from __future__ import annotations\n{text}", "<definition>", "exec", dont_inherit=True)
    return sorted({name for part in _codes(code) for name in _loaded(part)})


def closure_of(value: Callable[..., Any]) -> dict[str, Any]:
    """Variables of enclosing functions that `value` uses, by name."""
    functions = [value] if not isinstance(value, type) else [*map(inspect.unwrap, _methods(value))]
    found: dict[str, Any] = {}
    for function in functions:
        cells = zip(function.__code__.co_freevars, getattr(function, "__closure__", None) or (), strict=False)
        found |= {name: cell.cell_contents for name, cell in cells if name != "__class__" and _is_filled(cell)}
    return found


def globals_of(value: Callable[..., Any]) -> dict[str, Any]:
    """The globals of the module in which `value` was defined."""
    if isinstance(value, type):
        return vars(sys.modules[value.__module__])
    return dict(value.__globals__)


def _code(value: Callable[..., Any]) -> types.CodeType | None:
    if isinstance(value, type):
        codes: Iterator[types.CodeType] = (inspect.unwrap(method).__code__ for method in _methods(value))
        return next((code for code in codes if linecache.getlines(code.co_filename)), None)
    return getattr(value, "__code__", None)


def _methods(kind: type) -> Iterator[Any]:
    """Functions defined in the class's own body."""
    for value in vars(kind).values():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(function, types.FunctionType) and inspect.unwrap(function).__qualname__.startswith(
            kind.__qualname__
        ):
            yield function


def _defines(node: ast.AST, value: Callable[..., Any], line: int) -> bool:
    if isinstance(value, type):
        return (
            isinstance(node, ast.ClassDef)
            and node.name == value.__name__
            and node.lineno <= line <= (node.end_lineno or 0)
        )
    name = value.__code__.co_name
    if name == "<lambda>":
        return isinstance(node, ast.Lambda) and node.lineno == line
    return isinstance(node, ast.FunctionDef) and node.name == name and _first_line(node) == line


def _first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - asks whether it can be read
    except ValueError:
        return False
    return True


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _loaded(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("LOAD_") and (
            "GLOBAL" in instruction.opname or instruction.opname == "LOAD_NAME"
        ):
            yield str(instruction.argval)
