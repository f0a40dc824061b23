"""Steps of the normal form that decide what the installed Triton and literals decide. Pure syntax.

These are imports under `try`, conditions at module level, expressions of constants, and comparisons of versions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from kernelwright.source.bindings import dotted, free_names, imported_paths, names_in
from kernelwright.source.edits import Edit, block
from kernelwright.source.kernels import host_code
from kernelwright.worker.rules.folding import NotConstant, literal, value_of
from kernelwright.worker.rules.installed import is_installed
from kernelwright.worker.rules.static import may_import
from kernelwright.worker.rules.versions import CALLS

IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})

FOLDED = frozenset({"packaging", "packaging.version", "importlib.util"})
"""Modules that published files import for functions whose values folding computes."""


def decided(tree: ast.Module) -> list[Edit]:
    """Replace imports under `try`, and module-level `if` with a known condition, by the branch that is taken."""
    found = []
    for node in tree.body:
        chosen = _side(node, tree)
        if chosen is not None:
            found.append(Edit(node, node, block(chosen)))
    return found


def _side(node: ast.stmt, tree: ast.Module) -> list[ast.stmt] | None:
    match node:
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=[]) if handlers:
            taken = _taken(body, ast.Module([*tree.body, *body], []))
            failing = next((number for number, one in enumerate(taken, 1) if not _works(one, tree)), None)
            if not _is_guard(taken[:failing]):
                return None
            if failing is None:
                return [*taken, *orelse]
            return next((_handled(one) for one in handlers if _caught(one) & IMPORT_ERRORS), None)
        case ast.If(body=body, orelse=orelse):
            try:
                return _branch(node, tree)
            except NotConstant:
                sides = [side for side in (body, orelse) if side]
            if len(sides) == 2 and all(map(_is_guard, sides)):
                return next((side for side in sides if all(_works(one, tree) for one in side)), None)
        case _:
            pass
    return None


def _branch(node: ast.If, tree: ast.Module) -> list[ast.stmt]:
    """The branch of a module-level `if` that is taken; raises NotConstant where its condition is not known."""
    return node.body if value_of(node.test, tree) else node.orelse


def _taken(body: list[ast.stmt], tree: ast.Module) -> list[ast.stmt]:
    """`body` with each `if` whose condition is known (the version of Triton, for example) replaced by its branch."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If):
            with suppress(NotConstant):
                found += _taken(_branch(statement, tree), tree)
                continue
        found.append(statement)
    return found


def _handled(handler: ast.ExceptHandler) -> list[ast.stmt]:
    """The statements of a handler, after its name is bound if they use it."""
    if handler.name is None or not any(handler.name in names_in(one) for one in handler.body):
        return handler.body
    return [*ast.parse(f"{handler.name} = ImportError()").body, *handler.body]


def _is_guard(body: list[ast.stmt]) -> bool:
    """Whether `body` imports modules or reads their attributes, and otherwise only assigns constants and names."""
    tried = ast.Import | ast.ImportFrom | ast.Attribute
    return any(isinstance(node, tried) for part in body for node in ast.walk(part)) and all(
        isinstance(part, ast.Import | ast.ImportFrom | ast.Pass)
        or (isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant | ast.Name | ast.Attribute))
        or (isinstance(part, ast.Try) and _is_guard(part.body))
        for part in body
    )


def _works(statement: ast.stmt, tree: ast.Module) -> bool:
    """Whether the installed Triton has what a statement imports or reads, and host code may import it."""
    match statement:
        case ast.Assign(value=ast.Attribute(value=owner, attr=name)):
            return is_installed(dotted(owner, imported_paths(tree)) or "", name)
        case ast.Import(names=names):
            return all(_may_try(alias.name) and is_installed(alias.name) for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return all(_may_try(module, alias.name) and is_installed(module, alias.name) for alias in names)
        case ast.Try(handlers=handlers):
            return bool(handlers)
        case _:
            return not isinstance(statement, ast.ImportFrom)


def _may_try(module: str, name: str | None = None) -> bool:
    """Whether host code may import a module, or it is one whose functions are folded."""
    return may_import(module, name) or module in FOLDED


def _caught(handler: ast.ExceptHandler) -> set[str]:
    return {"Exception"} if handler.type is None else names_in(handler.type)


def computed(tree: ast.Module) -> list[Edit]:
    """Replace module-level expressions by their values, as literals, where folding can compute them."""
    assigned = (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))
    return [edit for node in assigned for edit in _literals(node.value, tree)]


def compared(tree: ast.Module) -> list[Edit]:
    """Replace comparisons of versions in host code's functions by their values."""
    paths = imported_paths(tree)
    found: list[Edit] = []
    for top in host_code(tree):
        if not isinstance(top, ast.FunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(top):
            if isinstance(node, ast.Compare) and _names_version(node, paths) and names_in(node) <= free_names(top):
                found += _literals(node, tree)
    return found


def _names_version(node: ast.Compare, paths: dict[str, str]) -> bool:
    return any(isinstance(part, ast.Call) and dotted(part.func, paths) in CALLS for part in ast.walk(node))


def _literals(node: ast.AST | None, tree: ast.Module) -> Iterator[Edit]:
    match node:
        case ast.Constant() | ast.Lambda() | None:
            return
        case ast.IfExp(test=test, body=body, orelse=orelse):
            try:
                yield Edit(node, node, ast.unparse(body if value_of(test, tree) else orelse))
                return
            except NotConstant:
                pass
        case ast.Call() | ast.Compare() | ast.BoolOp() | ast.Attribute() | ast.BinOp():
            try:
                text = literal(value_of(node, tree))
                if text != ast.unparse(node) and not _is_plain(node):
                    yield Edit(node, node, text)
                return
            except NotConstant:
                pass
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from _literals(child, tree)


def _is_plain(node: ast.expr) -> bool:
    """Whether `node` is arithmetic on literals, which stays as it is."""
    return all(isinstance(part, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
               for part in ast.walk(node))  # fmt: skip
