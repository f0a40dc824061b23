"""Which functions of a module load in a loop: `num_stages` says how many iterations' loads are under way at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Set

from kernelwright.source.bindings import dotted, names_in
from kernelwright.source.scopes import Reader

NONE: frozenset[str] = frozenset()


def functions_with_loads_in_loops(reader: Reader) -> Set[str]:
    """The module-level functions with a loop that loads, also by a function that is called; and those that call one.
    A `static_range` is unrolled and no loop."""
    functions = [node for node in reader.tree.body if isinstance(node, ast.FunctionDef)]
    loading = _and_callers(functions, lambda node: _loads(reader, node, NONE))
    return _and_callers(functions, lambda node: any(
        _loads(reader, statement, loading)
        for loop in ast.walk(node)
        if isinstance(loop, ast.While) or (isinstance(loop, ast.For) and not _is_unrolled(reader, loop))
        for statement in loop.body
    ))  # fmt: skip


def _and_callers(functions: list[ast.FunctionDef], has: Callable[[ast.FunctionDef], bool]) -> Set[str]:
    """The names of functions that have something, and of those that name one of them."""
    found = {node.name for node in functions if has(node)}
    while more := {node.name for node in functions if node.name not in found and names_in(node) & found}:
        found |= more
    return found


def _is_unrolled(reader: Reader, loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and reader.is_triton(loop.iter.func, "static_range")


def _loads(reader: Reader, node: ast.AST, loading: Set[str]) -> bool:
    """Whether something in `node` is called that is named `load`, a descriptor's too, or is one of `loading`."""
    called = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    names = ((dotted(function, reader.paths) or ast.unparse(function)).rpartition(".")[2] for function in called)
    return "load" in names or bool(names_in(node) & loading)
