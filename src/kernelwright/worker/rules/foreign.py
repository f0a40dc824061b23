"""Imports of packages that are neither PyTorch, Triton nor part of Python. Pure syntax.

Published files import their own package, which host code may not use and which is not installed. Such an import may
stay out where only code uses it that no call reaches.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Set

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import assigned_targets, base_name, imported, imported_paths, names_in
from kernelwright.source.copied import copied
from kernelwright.source.edits import Edit, edited, narrowed
from kernelwright.source.kernels import host_code, jit_functions
from kernelwright.worker.rules.installed import is_installed
from kernelwright.worker.rules.static import ALLOWED_MODULES, may_import

KNOWN = frozenset({"torch", *sys.stdlib_module_names})

TUNED = ("configs", "key")
"""Keywords that make a foreign decorator of a kernel one like `triton.autotune`."""

ANYTHING = "object"
"""The annotation in place of one that names something that host code may not import."""


def without_foreign(source: str) -> str:
    """`source` for its first recording: without module-level imports of foreign packages and assignments that use them.

    Where a call uses one of these names, the recording fails. The text is not judged: the names are still in the one
    that is, if code uses them that a call takes.
    """
    tree = syntax.parse(source)
    edits, absent = [], set[str]()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            gone = _foreign_names(node)
            left = [found.alias for found in imported(node) if found.name not in gone]
            edits += [Edit(node, node, narrowed(node, left) if left else "pass")] if gone else []
            absent |= gone
        elif names := _made_from(node, absent):
            edits.append(Edit(node, node, "pass"))
            absent |= names
    return edited(source, edits)


def _foreign_names(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The names that an import binds to foreign packages. A name that the installed Triton lacks counts as foreign."""
    if isinstance(node, ast.ImportFrom):
        foreign = bool(node.level) or any(is_foreign(node.module or "", alias.name) for alias in node.names)
        return {found.name for found in imported(node)} if foreign else set()
    return {found.name for found in imported(node) if is_foreign(found.alias.name)}


def is_foreign(module: str, name: str | None = None) -> bool:
    """Whether host code can import a module, or a name from it, neither from the framework nor from Python."""
    top = module.partition(".")[0]
    if top == "triton":
        return not is_installed(module, name)
    return top not in KNOWN and not may_import(module, name)


def _made_from(node: ast.stmt, absent: Set[str]) -> set[str]:
    """The names that an assignment binds if its value uses one of `absent`."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    targets = assigned_targets(node)
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return names if value and len(names) == len(targets) and names_in(value) & absent else set()


def used(tree: ast.Module) -> list[Edit]:
    """Remove module-level statements that only call a foreign package (which registers an operator, for example).
    Replace `isinstance(x, Class)` with a class of such a package by False: no input of a problem is of one."""
    foreign = {name for name, path in imported_paths(tree).items() if path.partition(".")[0] not in (*KNOWN, "triton")}
    calls = [node for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
             and base_name(node.value) in foreign]  # fmt: skip
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _asks_for(node, foreign)]
    return [*(Edit(node, node, "pass") for node in calls), *(Edit(node, node, "False") for node in asked)]


def decorated(tree: ast.Module) -> list[Edit]:
    """Remove decorators of foreign packages (tracers and caches of launches) above kernels. One with the keywords
    `configs` and `key` becomes `triton.autotune` with these."""
    paths = imported_paths(tree)
    foreign = {name for name, path in paths.items() if path.partition(".")[0] not in (*KNOWN, "triton")}
    triton = next((name for name, path in paths.items() if path == "triton"), None)
    found = []
    for function in jit_functions(tree):
        kept = []
        for one in function.decorators:
            if one.is_jit or base_name(one.node) not in foreign:
                kept.append(one.node)
            elif triton and (tuned := [word for word in (one.call.keywords if one.call else []) if word.arg in TUNED]):
                kept.append(ast.Call(ast.parse(f"{triton}.autotune", mode="eval").body, [], tuned))
        if kept != [one.node for one in function.decorators]:
            made = copied(function.node)
            made.decorator_list = kept
            found.append(Edit(function.node, function.node, ast.unparse(made)))
    return found


def _asks_for(node: ast.Call, foreign: Set[str]) -> bool:
    """Whether `node` is `isinstance(x, Class)` of a name x, with a foreign class or a tuple of them."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(), kind], keywords=[]):
            kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
            return all(isinstance(one, ast.Name | ast.Attribute) and base_name(one) in foreign for one in kinds)
        case _:
            return False


def annotated(tree: ast.Module) -> list[Edit]:
    """Replace annotations of host code that name something from a module not in ALLOWED_MODULES. Nothing reads them."""
    others = {name for name, path in imported_paths(tree).items() if not _is_allowed(path)}
    return [
        Edit(annotation, annotation, ANYTHING)
        for top in host_code(tree)
        for node in ast.walk(top)
        if isinstance(node, ast.FunctionDef)
        for annotation in _annotations_of(node)
        if _named(annotation) & others
    ]


def _is_allowed(path: str) -> bool:
    top = path.partition(".")[0]
    return top in ("torch", "triton") or path in ALLOWED_MODULES or path.rpartition(".")[0] in ALLOWED_MODULES


def _annotations_of(node: ast.FunctionDef) -> Iterator[ast.expr]:
    """The annotations of a function's arguments, result and variables."""
    found = [argument.annotation for argument in ast.walk(node.args) if isinstance(argument, ast.arg)]
    found += [node.returns]
    found += [part.annotation for statement in node.body for part in _own(statement) if isinstance(part, ast.AnnAssign)]
    yield from (annotation for annotation in found if annotation is not None)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of classes in it, whose annotations are fields."""
    if not isinstance(node, ast.ClassDef):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _own(child)


def _named(annotation: ast.expr) -> set[str]:
    """The names in an annotation, also in one that is a string."""
    texts = (part.value for part in ast.walk(annotation) if isinstance(part, ast.Constant))
    return names_in(annotation) | {word for text in texts if isinstance(text, str) for word in re.findall(r"\w+", text)}
