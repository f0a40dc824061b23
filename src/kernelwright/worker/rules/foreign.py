"""Imports of packages that are neither PyTorch, Triton nor part of Python. Pure syntax.

Published files import their own package, which host code may not use and which is not installed. Such an import may
stay out where only code uses it that no call reaches.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Set

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import base_name, callee, dotted, imported, imported_name, imported_paths, names_in
from kernelwright.source.branches import STAND_IN
from kernelwright.source.edits import Edit, edited, narrowed
from kernelwright.source.kernels import JIT_SPELLINGS, host_code
from kernelwright.worker.rules.framework import may_be_imported
from kernelwright.worker.rules.installed import is_installed
from kernelwright.worker.rules.static import ALLOWED_IMPORTS_OF, ALLOWED_MODULES, may_import

KNOWN = frozenset({"torch", "packaging", *sys.stdlib_module_names})

TUNED = ("configs", "key")
"""Keywords that make a foreign decorator of a kernel one like `triton.autotune`."""

ANYTHING = "object"
"""The annotation in place of one that names something that host code may not import."""


def with_stand_ins(source: str) -> str:
    """`source` for its first recording, with stand-ins for what it imports from foreign packages. Under `try` such an
    import fails instead. Statements keep their kinds, so that branches keep their numbers."""
    tree = syntax.parse(source)
    tried = {id(one) for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers
             for part in node.body for one in ast.walk(part)}  # fmt: skip
    edits = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and (gone := _foreign_names(node)):
            left = [found.alias for found in imported(node) if found.name not in gone]
            of = ast.unparse(node).removeprefix("import ").partition(" import ")[0]
            bound = [f"{name} = {STAND_IN}({name!r}, {f'line {node.lineno} imports {of}'!r})" for name in sorted(gone)]
            made = [f"{STAND_IN}()"] if id(node) in tried else bound
            edits.append(Edit(node, node, "; ".join([narrowed(node, left), *made] if left else made)))
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


def used(tree: ast.Module) -> list[Edit]:
    """Replace `isinstance(x, Class)` with a class of a foreign package by False: no input of a problem is of one."""
    foreign = _foreign(imported_paths(tree))
    return [Edit(node, node, "False") for node in ast.walk(tree)
            if isinstance(node, ast.Call) and _asks_for(node, foreign)]  # fmt: skip


def _foreign(paths: Mapping[str, str]) -> set[str]:
    """The names that imports bind to foreign packages. paths: full names by imported names."""
    return {name for name, path in paths.items() if path.partition(".")[0] not in (*KNOWN, "triton")}


def unknown(tree: ast.Module) -> set[str]:
    """The names that imports at any depth bind to packages of which it is not known what a call does."""
    known = {*KNOWN, "triton", *(module.partition(".")[0] for module in ALLOWED_IMPORTS_OF)}
    return {
        found.name for node in ast.walk(tree) for found in imported(node) if found.path.partition(".")[0] not in known
    }


def without_foreign(decorators: Iterable[ast.expr], paths: Mapping[str, str]) -> list[ast.expr]:
    """The decorators of a kernel without those of foreign packages (tracers and caches of launches). One with the
    keywords `configs` and `key` becomes `triton.autotune` with these."""
    foreign, triton = _foreign(paths), imported_name("triton", paths)
    kept = []
    for one in decorators:
        tuned = [word for word in one.keywords if word.arg in TUNED] if isinstance(one, ast.Call) else []
        if base_name(one) not in foreign or ast.unparse(callee(one)) in JIT_SPELLINGS:
            kept.append(one)
        elif triton and tuned:
            kept.append(ast.Call(ast.parse(f"{triton}.autotune", mode="eval").body, [], tuned))
    return kept


def _asks_for(node: ast.Call, foreign: Set[str]) -> bool:
    """Whether `node` is `isinstance(x, Class)` of a name x, with a foreign class or a tuple of them."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(), kind], keywords=[]):
            kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
            return all(isinstance(one, ast.Name | ast.Attribute) and base_name(one) in foreign for one in kinds)
        case _:
            return False


def annotated(tree: ast.Module) -> list[Edit]:
    """Replace annotations in functions of host code that name something that they may not use. Nothing reads them."""
    paths = imported_paths(tree)
    others = {name for name, path in paths.items() if not _is_allowed(path)}
    functions = (node for top in host_code(tree) for node in ast.walk(top) if isinstance(node, ast.FunctionDef))
    found = (getattr(part, field, None) for node in functions for part in ast.walk(node)
             for field in ("annotation", "returns"))  # fmt: skip
    return [Edit(one, one, ANYTHING) for one in found if isinstance(one, ast.expr)
            and (_named(one) & others or any(may_be_imported(path) for path in _paths_in(one, paths)))]  # fmt: skip


def _paths_in(node: ast.AST, paths: Mapping[str, str]) -> set[str]:
    """The full names of what a node names of imported modules."""
    return {path for part in ast.walk(node) if isinstance(part, ast.expr) and (path := dotted(part, paths))}


def _is_allowed(path: str) -> bool:
    top = path.partition(".")[0]
    return top in ("torch", "triton") or path in ALLOWED_MODULES or path.rpartition(".")[0] in ALLOWED_MODULES


def _named(annotation: ast.expr) -> set[str]:
    """The names in an annotation, also in one that is a string."""
    texts = (part.value for part in ast.walk(annotation) if isinstance(part, ast.Constant))
    return names_in(annotation) | {word for text in texts if isinstance(text, str) for word in re.findall(r"\w+", text)}
