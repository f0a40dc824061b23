"""Literals in place of kernel constants that functions of the module compute at import. Pure syntax.

The values come from a recording, which is not trusted: the new source is judged like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bound_values, dotted, imported_paths, names_in
from kernelwright.source.edits import Edit, edited
from kernelwright.source.kernels import jit_functions
from kernelwright.worker.rules.bound_names import looked_up

LONGEST = 8000
"""Longest literal that is inserted, in characters."""


def computed_constants(source: str) -> tuple[str, ...]:
    """Names that kernels look up and that are bound once, to a value that uses a function of the module."""
    tree = syntax.parse(source)
    bound = bound_values(tree)
    functions = [function.node for function in jit_functions(tree)]
    wanted = {name.id for function in functions for name in looked_up(function)}
    wanted |= {name for function in functions for name in names_in(function.args)}
    return tuple(
        name for name, node in _assigned(tree) if name in wanted and len(bound[name]) == 1 and _calls(node, tree)
    )


def with_constants(source: str, values: Mapping[str, str], wanted: Collection[str]) -> str:
    """`source` with the values of the names in `wanted` replaced by the literals in `values`."""
    tree = syntax.parse(source)
    paths = imported_paths(tree)
    edits = []
    for name, node in _assigned(tree):
        text = _literal(values.get(name, "")) if name in wanted else None
        if text is not None:
            inner = _inside(node, paths)
            edits.append(Edit(inner, inner, text))
    return edited(source, edits)


def _assigned(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    """Name and value of each module-level assignment to a single name."""
    found = []
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.append((name, value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found.append((name, value))
            case _:
                pass
    return found


def _calls(node: ast.expr, tree: ast.Module) -> bool:
    """Whether a value uses a function of the module."""
    functions = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
    return bool(names_in(_inside(node, imported_paths(tree))) & functions)


def _inside(node: ast.expr, paths: Mapping[str, str]) -> ast.expr:
    """The argument of `tl.constexpr`, or the value itself if it is no such call."""
    match node:
        case ast.Call(func=function, args=[inner], keywords=[]) if (
            dotted(function, paths) == "triton.language.constexpr"
        ):
            return inner
    return node


def _literal(text: str) -> str | None:
    """The recorded text of a constant if it is a number or a string, else None. Infinity becomes `1e999`."""
    if len(text) > LONGEST:
        return None
    text = {"inf": "1e999", "-inf": "-1e999"}.get(text, text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return text if type(value) in (bool, int, float, str) and "\n" not in text else None
