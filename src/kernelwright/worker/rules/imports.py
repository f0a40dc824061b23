"""Imports of a candidate's module that its kernels may use. Pure syntax.

Kernels may use only the modules in `language.MODULES`, and of these only the names that `language.toml` allows, because
Triton calls any Python function that a kernel refers to, on the trusted side.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, field

from kernelwright.source.bindings import dotted, imported
from kernelwright.worker.rules.language import MODULES, why_refused

DECORATOR_NAMES = ("jit", "autotune", "heuristics", "Config")
"""Names that host code imports from Triton for the decorators of a kernel."""


@dataclass(frozen=True, order=True)
class Finding:
    """A rule that a source breaks, at a line (1-based)."""

    line: int
    rule: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.rule}"


@dataclass(frozen=True)
class Imports:
    """Names that module-level imports bind, with their full names. modules: names of allowed modules. leaves: names
    from an allowed module. decorators: names of Triton's decorators. statements: the imports of modules and leaves.
    refused: names from an allowed module that kernels may not use, with the reason."""

    modules: dict[str, str]
    leaves: dict[str, str]
    decorators: dict[str, str]
    statements: list[ast.stmt]
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def all(self) -> set[str]:
        return set(self.paths)

    @functools.cached_property
    def paths(self) -> dict[str, str]:
        """Full names by imported names."""
        return self.decorators | self.leaves | self.modules

    def dotted(self, node: ast.expr) -> str | None:
        """The full name of a chain of attributes; None if it does not begin with an imported name."""
        return dotted(node, self.paths)


def allowed_imports(tree: ast.Module) -> Imports:
    """Read a module's top-level imports."""
    found = Imports({}, {}, {}, [])
    for node in tree.body:
        kept: list[ast.alias] = []
        if isinstance(node, ast.Import):
            for name in imported(node):
                if name.alias.name in MODULES:
                    found.modules[name.name] = name.path
                    kept.append(name.alias)
            found.statements.extend([ast.Import(names=kept)] if kept else [])
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module in MODULES:
            for name in imported(node):
                if why := why_refused(node.module, name.alias.name):
                    found.refused[name.name] = why
                else:
                    (found.modules if name.path in MODULES else found.leaves)[name.name] = name.path
                    kept.append(name.alias)
                if node.module == "triton" and name.alias.name in DECORATOR_NAMES:
                    found.decorators[name.name] = name.path
            found.statements.extend([ast.ImportFrom(module=node.module, names=kept, level=0)] if kept else [])
    return found
