"""Detection of functions that load in a loop. Only their loops use `num_stages`, the number of iterations whose loads
are in flight at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Set

from kernelwright.source.bindings import dotted, names_in
from kernelwright.source.scopes import Reader

NONE: frozenset[str] = frozenset()


def functions_with_loads_in_loops(reader: Reader) -> Set[str]:
    """The module-level functions with a loop that loads, directly or in a called function, and the functions that call
    them. A `static_range` is unrolled and does not count as a loop."""
    functions = [node for node in reader.tree.body if isinstance(node, ast.FunctionDef)]
    loading = _and_callers(functions, lambda node: _loads(reader, node, NONE))
    return _and_callers(functions, lambda node: any(
        _loads(reader, statement, loading)
        for loop in ast.walk(node)
        if isinstance(loop, ast.While) or (isinstance(loop, ast.For) and not _is_unrolled(reader, loop))
        for statement in loop.body
    ))  # fmt: skip


def _and_callers(functions: list[ast.FunctionDef], has: Callable[[ast.FunctionDef], bool]) -> Set[str]:
    """The names of functions for which `has` is true, and of functions that refer to one of them."""
    found = {node.name for node in functions if has(node)}
    while more := {node.name for node in functions if node.name not in found and names_in(node) & found}:
        found |= more
    return found


def _is_unrolled(reader: Reader, loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and reader.is_triton(loop.iter.func, "static_range")


def _loads(reader: Reader, node: ast.AST, loading: Set[str]) -> bool:
    """Whether `node` calls a function named `load` (also of a descriptor), or refers to one of `loading`."""
    called = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    names = ((dotted(function, reader.paths) or ast.unparse(function)).rpartition(".")[2] for function in called)
    return "load" in names or bool(names_in(node) & loading)
