"""Kernels that are defined in functions and classes, moved before these. Pure syntax.

Only kernels of the module are rebuilt and launched. One that reads variables of the function around it stays, and so
does one whose name the module, a class or another function binds, too, or the attribute of an object.
"""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bindings, free_names, stored_names
from kernelwright.source.branches import is_kernel
from kernelwright.source.edits import Edit, edited
from kernelwright.source.parse import copied

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def without_nested(source: str) -> str:
    """`source` with its kernels at module level, in as many lines. Attributes of a class that are kernels become their
    names."""
    tree = syntax.parse(source)
    found = [one for top in tree.body if isinstance(top, Scope) for one in _inside(top, (top,))]
    bodies = [part for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef) for part in node.body]
    bound = Counter(one.name for part in bodies for one in bindings(part))
    bound.update(kernel.name for kernel, around in found if not isinstance(around[-1], ast.ClassDef))
    bound.update(node.attr for node in ast.walk(tree)
                 if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load))  # fmt: skip
    moved = [(kernel, around) for kernel, around in found
             if bound[kernel.name] == 1 and len(around[-1].body) > 1 and not _reads(kernel, around)]  # fmt: skip
    owners = {kernel.name: around[-1].name for kernel, around in moved if isinstance(around[-1], ast.ClassDef)}
    if not moved:
        return source
    edits = []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Load()) if name in owners:
                edits += [Edit(node, node, name)] if owner in ("self", "cls", owners[name]) else []
            case _:
                pass
    lines = edited(source, edits).splitlines()
    for kernel, around in moved:
        first, last = min(one.lineno for one in kernel.decorator_list) - 1, kernel.end_lineno or 0
        start = min([around[0].lineno, *(one.lineno for one in around[0].decorator_list)]) - 1
        own = [line if line.strip() != "@staticmethod" else "" for line in lines[first:last]]
        lines[start:last] = [*textwrap.dedent("\n".join(own)).split("\n"), *lines[start:first]]
    return "\n".join([*lines, ""])


def _inside(node: ast.AST, around: tuple[Scope, ...]) -> Iterator[tuple[ast.FunctionDef, tuple[Scope, ...]]]:
    """The kernels in a function or a class, each with the functions and classes around it, outer ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and is_kernel(child):
            yield child, around
        else:
            yield from _inside(child, (*around, child) if isinstance(child, Scope) else around)


def _reads(kernel: ast.FunctionDef, around: tuple[Scope, ...]) -> bool:
    """Whether a kernel, its decorators or its defaults read what a function or class around it binds."""
    names = {one.name for scope in around for one in ast.walk(scope) if isinstance(one, Scope)}
    names = names.union(*map(stored_names, around))
    return bool(free_names(_bare(kernel)) & (names - {kernel.name, *(scope.name for scope in around[:1])}))


def _bare(kernel: ast.FunctionDef) -> ast.FunctionDef:
    made = copied(kernel)
    made.decorator_list = [one for one in made.decorator_list if ast.unparse(one) != "staticmethod"]
    return made
