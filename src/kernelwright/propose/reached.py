"""The part of a problem's modules that its `Model` reaches, by static analysis of the AST. Pure.

A module-level statement is reached if a reached statement uses a name that it binds, in the same module or through an
import. Code that cannot be followed (a star import, `importlib`, `globals()`, a module passed as a value) counts as
using the whole module, so that nothing is missing that the computation needs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import imported, names_in

PROBLEM = ""
"""Key of the problem's own file among the paths of its modules."""
UNKNOWN = frozenset({"globals", "locals", "vars", "eval", "exec", "getattr", "__import__", "importlib", "setattr"})
LEFT_OUT = "# … (not reached by Model)"


@dataclass
class _Module:
    """names: for each name bound at module level, the indices of the statements that bind or change it. aliases: for
    each name of one of the problem's modules, its path. members: for each name imported from one of these modules, its
    path and its name there."""

    tree: ast.Module
    lines: list[str]
    names: dict[str, list[int]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[str, str]] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)
    starred: list[str] = field(default_factory=list)


def reached(source: str, modules: Mapping[str, str]) -> dict[str, str]:
    """The sources in `modules` (by their path below sources/), each reduced to what `Model` in `source` reaches. A
    module without reached statements is left out. All are returned whole where a source does not parse or has no Model.
    """
    try:
        known = {path: _read(path, text, modules) for path, text in {**modules, PROBLEM: source}.items()}
    except (SyntaxError, ValueError, RecursionError):
        return dict(modules)
    if "Model" not in known[PROBLEM].names and not known[PROBLEM].starred:
        return dict(modules)
    waiting = [(PROBLEM, "Model")]
    seen: set[tuple[str, str]] = set()
    while waiting:
        path, name = waiting.pop()
        if (path, name) in seen or path not in known:
            continue
        seen.add((path, name))
        waiting += _uses(path, name, known)
    return {path: _shown(known[path]) for path in modules if known[path].reached}


def _uses(path: str, name: str, known: Mapping[str, _Module]) -> Iterator[tuple[str, str]]:
    """The names that `name` of a module uses in turn; "*" means the whole module."""
    module = known[path]
    if name == "*":
        module.reached.update(range(len(module.tree.body)))
        found = list(range(len(module.tree.body)))
    else:
        found = [index for index in module.names.get(name, ()) if index not in module.reached]
        module.reached.update(found)
        if name not in module.names:
            yield from ((other, name) for other in module.starred)
    if name in module.members:
        yield module.members[name]
    for index in found:
        yield from _used_by(module.tree.body[index], path, module)


def _used_by(statement: ast.stmt, path: str, module: _Module) -> Iterator[tuple[str, str]]:
    attributes = {id(node.value): node.attr for node in ast.walk(statement)
                  if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}  # fmt: skip
    for node in ast.walk(statement):
        if isinstance(node, ast.ImportFrom | ast.Import):
            yield from _imported(node, path, module)
        if not isinstance(node, ast.Name):
            continue
        if node.id in UNKNOWN:
            yield path, "*"
            yield from ((other, "*") for other in {*module.aliases.values(), *module.starred})
        yield path, node.id
        if node.id in module.aliases:
            yield module.aliases[node.id], attributes.get(id(node), "*")


def _imported(node: ast.stmt, path: str, module: _Module) -> Iterator[tuple[str, str]]:
    """The names that an import within a function refers to. It binds no name of the module but counts as a use."""
    for alias in getattr(node, "names", []):
        name = alias.asname or alias.name.partition(".")[0]
        if name in module.members:
            yield module.members[name]
        elif name in module.aliases and alias.asname is None and "." in alias.name:
            yield module.aliases[name], "*"


def _read(path: str, text: str, modules: Mapping[str, str]) -> _Module:
    tree = syntax.parse(text)
    module = _Module(tree, text.splitlines())
    for index, statement in enumerate(tree.body):
        for name in _bound(statement):
            module.names.setdefault(name, []).append(index)
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if (target := _file(alias.name, modules)) is not None:
                        module.aliases[alias.asname or alias.name.partition(".")[0]] = target
            elif isinstance(node, ast.ImportFrom):
                _take_from(node, path, modules, module)
    return module


def _take_from(node: ast.ImportFrom, path: str, modules: Mapping[str, str], module: _Module) -> None:
    package = path.split("/")[: -node.level] if node.level else []
    dotted = ".".join([*package, *([node.module] if node.module else [])])
    target = _file(dotted, modules)
    for alias in node.names:
        name = alias.asname or alias.name
        if (inner := _file(f"{dotted}.{alias.name}".lstrip("."), modules)) is not None:
            module.aliases[name] = inner
        elif target is not None and alias.name == "*":
            module.starred.append(target)
        elif target is not None:
            module.members[name] = target, alias.name


def _file(dotted: str, modules: Mapping[str, str]) -> str | None:
    base = dotted.replace(".", "/")
    return next((path for path in (f"{base}.py", f"{base}/__init__.py") if path in modules), None)


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement binds at module level, or whose value it may change."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {one.name for one in imported(node)}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            found |= names_in(node.value)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):  # table.update(…), register(…)
        found |= names_in(statement.value)
    return found


def _shown(module: _Module) -> str:
    if len(module.reached) == len(module.tree.body):
        return "\n".join(module.lines)
    parts: list[str] = []
    for index, statement in enumerate(module.tree.body):
        if index in module.reached:
            decorators = getattr(statement, "decorator_list", [])
            begin = min([statement.lineno, *(one.lineno for one in decorators)])
            parts.append("\n".join(module.lines[begin - 1 : statement.end_lineno]))
        elif not parts or parts[-1] != LEFT_OUT:
            parts.append(LEFT_OUT)
    return "\n\n".join(parts)
