"""Statements of a module that only try out or time its functions, as tutorials have them. Pure syntax.

The normal form leaves them out. What changes the framework or the module stays, and the rules refuse it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from kernelwright.source.bindings import base_name, bindings, callee, dotted, imported, imported_paths, names_in
from kernelwright.source.kernels import in_kernels
from kernelwright.worker.rules.framework import ROOTS
from kernelwright.worker.rules.static import READS_VALUES, broken, may_import

STATEMENTS = ast.Expr | ast.If | ast.For | ast.With | ast.Assert | ast.AugAssign

BENCHMARK = "triton.testing.perf_report"
"""Decorator of a function that times others. Such a function is not checked."""

OF_SCRIPTS = READS_VALUES | {"manual_seed", "manual_seed_all", "seed", "random", "set_printoptions", "do_bench",
                             "synchronize", "Event", "current_stream"}  # fmt: skip
"""Attributes that host code may not use and scripts may."""

TESTING = ("torch.testing.", "triton.testing.")

GRADIENTS = ("grad", "requires_grad")
"""Attributes that scripts may write."""

OF_PYTHON = frozenset({"time", "random"})
"""Modules of the standard library that host code may not use and scripts may."""


def scripts(tree: ast.Module) -> dict[int, set[str]]:
    """The statements of a module that only compute, compare, time and print, as do the functions that they name: for
    the id of each, the names that it binds and those whose values it could change."""
    tried = [node for node in tree.body if isinstance(node, STATEMENTS) and not _is_text(node)]
    if not tried:
        return {}
    paths = imported_paths(tree)
    acting = set(_acting(tree, paths))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    changeable = {binding.name for binding in bindings(tree) if _may_change(binding.value, paths)}
    found = {}
    for node in tried:
        parts: list[ast.stmt] = [node]
        seen: set[str] = set()
        for part in parts:  # grows by the functions that are named
            named = (names_in(part) & functions.keys()) - seen
            seen |= named
            parts += [functions[name] for name in named if not _times(functions[name], paths)]
        if not any(id(one) in acting for part in parts for one in ast.walk(part)):
            found[id(node)] = {binding.name for binding in bindings(node)} | (names_in(node) & changeable)
    return found


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is only a literal, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _acting(tree: ast.Module, paths: dict[str, str]) -> Iterator[int]:
    """ids of nodes that break a rule of host code that also holds for scripts, or write into an object that the module
    does not bind."""
    yield from (id(node) for node, _ in broken(tree, in_kernels(tree)) if not _is_usual(node, paths))
    own = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    for node in ast.walk(tree):
        is_stored = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
        is_patch = isinstance(node, ast.Attribute) and node.attr not in GRADIENTS
        if (is_stored and (is_patch or base_name(node) not in own)) or isinstance(node, ast.Global | ast.Nonlocal):
            yield id(node)
        if isinstance(node, ast.Name) and _is_of_python(paths.get(node.id, "")):
            yield id(node)


def _is_usual(node: ast.AST, paths: dict[str, str]) -> bool:
    """Whether a node that breaks a rule of host code is usual in a script."""
    match node:
        case ast.Attribute(attr=name):
            return name in OF_SCRIPTS or (dotted(node, paths) or "").startswith(TESTING)
        case ast.Import() | ast.ImportFrom():
            return not any(_is_of_python(found.path) for found in imported(node))
        case _:
            return False


def _is_of_python(path: str) -> bool:
    """Whether a full name belongs to a module of the standard library that neither host code nor scripts may use."""
    module, _, name = path.rpartition(".")
    top = path.partition(".")[0]
    return top in sys.stdlib_module_names - OF_PYTHON and not (may_import(path) or may_import(module, name))


def _may_change(value: ast.expr | None, paths: dict[str, str]) -> bool:
    if isinstance(value, ast.Call):
        return (dotted(value.func, paths) or "").partition(".")[0] not in ROOTS
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _times(function: ast.FunctionDef, paths: dict[str, str]) -> bool:
    return any(dotted(callee(one), paths) == BENCHMARK for one in function.decorator_list)
