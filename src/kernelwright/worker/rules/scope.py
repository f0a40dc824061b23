"""What the names of a candidate's module mean, as far as kernels are concerned. Pure syntax.

A module that is not in `language.MODULES` does not exist for kernels, and from one that is there they get only the
names that `language.toml` allows. Triton calls any Python that a kernel reaches, on the trusted side.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernelwright.worker.rules.language import MODULES, why_refused

ALLOWED_IMPORTS = tuple(MODULES)
"""Modules that kernels may use."""

DECORATOR_NAMES = ("jit", "autotune", "heuristics", "Config")
"""Names that host code imports from Triton for what stands above a kernel."""


@dataclass(frozen=True)
class Finding:
    """A rule that a source breaks, at a line (1-based)."""

    line: int
    rule: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.rule}"


@dataclass(frozen=True)
class Scope:
    """Names that module-level imports bind. modules: to an allowed module; leaves: to something in one; decorators:
    to Triton's decorators. imports: the statements that bind modules and leaves. refused: names of an allowed module
    that kernels may not use, and why."""

    modules: dict[str, str]
    leaves: dict[str, str]
    decorators: dict[str, str]
    imports: list[ast.stmt]
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def all(self) -> set[str]:
        return {*self.modules, *self.leaves, *self.decorators}

    def dotted(self, node: ast.expr) -> str | None:
        """The full name that a chain of attributes has in Triton, None where it is not one of an import."""
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else None
        if isinstance(node, ast.Name):
            return self.modules.get(node.id) or self.leaves.get(node.id) or self.decorators.get(node.id)
        return None


def scope_of(tree: ast.Module) -> Scope:
    """Read a module's top-level imports."""
    modules: dict[str, str] = {}
    leaves: dict[str, str] = {}
    decorators: dict[str, str] = {}
    imports: list[ast.stmt] = []
    refused: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            kept = [alias for alias in node.names if alias.name in ALLOWED_IMPORTS]
            for alias in kept:
                top = alias.name.partition(".")[0]
                modules[alias.asname or top] = alias.name if alias.asname else top
            imports += [ast.Import(names=kept)] if kept else []
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module in ALLOWED_IMPORTS:
            why = {alias.name: why_refused(node.module, alias.name) for alias in node.names}
            refused |= {alias.asname or alias.name: why[alias.name] for alias in node.names if why[alias.name]}
            kept = [alias for alias in node.names if not why[alias.name]]
            for alias in kept:
                path = f"{node.module}.{alias.name}"
                (modules if path in ALLOWED_IMPORTS else leaves)[alias.asname or alias.name] = path
            imports += [ast.ImportFrom(module=node.module, names=kept, level=0)] if kept else []
            if node.module == "triton":
                decorators |= {a.asname or a.name: f"triton.{a.name}" for a in node.names if a.name in DECORATOR_NAMES}
    return Scope(modules, leaves, decorators, imports, refused)


@dataclass(frozen=True)
class Binding:
    """A name bound at the level looked at. what: equal for two bindings to the same thing."""

    name: str
    what: object
    line: int


def bindings(node: ast.AST) -> Iterator[Binding]:
    """Every name that `node` binds in its own scope: not in functions, classes, lambdas or comprehensions inside."""
    line = getattr(node, "lineno", 0)
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield Binding(node.name, id(node), line)
            children = [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        case ast.ClassDef():
            yield Binding(node.name, id(node), line)
            children = [*node.decorator_list, *node.bases, *node.keywords]
        case ast.Lambda():
            children = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        case ast.comprehension():
            children = [node.iter, *node.ifs]
        case ast.Import():
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield Binding(alias.asname or top, alias.name if alias.asname else top, line)
        case ast.ImportFrom():
            for alias in node.names:
                yield Binding(alias.asname or alias.name, f"{node.module}.{alias.name}", line)
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield Binding(node.id, id(node), line)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield Binding(name, id(node), line)
        case ast.ExceptHandler(name=str(name)):
            yield Binding(name, id(node), line)
    for child in children:
        yield from bindings(child)


def names_in(node: ast.AST) -> set[str]:
    """Every name that occurs in `node`."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
