"""Detection of functions with loops that Triton pipelines by the launch option `num_stages`, the number of iterations
whose loads are in flight at once: `for` loops that load and have a `dot`. Others have as many as their `tl.range` says
(PTX of Triton 3.7 for sm_80, sm_90 and sm_100 is the same with any number)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Set

from kernelwright.source.bindings import dotted, names_in
from kernelwright.source.scopes import Reader

DOTS = frozenset({"dot", "dot_scaled"})


def functions_with_pipelined_loops(reader: Reader) -> Set[str]:
    """The module-level functions with such a loop, where it loads or multiplies in called functions too, and the
    functions that call them. A `static_range` is unrolled and does not count as a loop."""
    functions = [node for node in reader.tree.body if isinstance(node, ast.FunctionDef)]
    loading, multiplying = (
        _and_callers(functions, lambda node, names=names: bool(_called(reader, node) & names))  # type: ignore[misc]
        for names in ({"load"}, DOTS)
    )
    return _and_callers(functions, lambda node: any(
        _has(reader, loop, {"load"}, loading) and _has(reader, loop, DOTS, multiplying)
        for loop in ast.walk(node) if isinstance(loop, ast.For) and not _is_unrolled(reader, loop)
    ))  # fmt: skip


def _and_callers(functions: list[ast.FunctionDef], has: Callable[[ast.FunctionDef], bool]) -> Set[str]:
    """The names of functions for which `has` is true, and of functions that refer to one of them."""
    found = {node.name for node in functions if has(node)}
    while more := {node.name for node in functions if node.name not in found and names_in(node) & found}:
        found |= more
    return found


def _is_unrolled(reader: Reader, loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and reader.is_triton(loop.iter.func, "static_range")


def _has(reader: Reader, node: ast.AST, names: Set[str], functions: Set[str]) -> bool:
    """Whether `node` calls a function of one of these names (`load` also of a descriptor), or refers to one of
    `functions`."""
    return bool(_called(reader, node) & names) or bool(names_in(node) & functions)


def _called(reader: Reader, node: ast.AST) -> Set[str]:
    """The last parts of the names of called functions."""
    called = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return {(dotted(function, reader.paths) or ast.unparse(function)).rpartition(".")[2] for function in called}
