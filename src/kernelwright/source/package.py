"""Finds what a file imports from other modules of its own package, or from files beside it, in their text.

Nothing is imported or run. Torch, Triton, numpy and Python's own modules are never the file's, whatever its folders are
called.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bindings, imported
from kernelwright.textfile import read_text

NEVER = frozenset({*sys.stdlib_module_names, "torch", "triton", "numpy"})

Key = tuple[Path, str]
"""A definition: the file and the name that it has there."""


class NotFoundError(LookupError):
    """What was asked for is no definition of the package. The text of the error names it."""


@dataclass(frozen=True)
class Module:
    """The text of a file. bound: the statements that bind a name, by name. imports: the full names of what imports at
    module level bind, see `bindings.imported`."""

    file: Path
    tree: ast.Module
    bound: dict[str, list[ast.stmt]]
    imports: dict[str, str]

    @property
    def starred(self) -> Iterator[str]:
        """The modules of which every name is imported."""
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                yield "." * node.level + (node.module or "")


class Package:
    """The modules that were read, by file."""

    def __init__(self) -> None:
        self._modules: dict[Path, Module] = {}

    def module(self, file: Path) -> Module:
        """Raises OSError, and SyntaxError or ValueError for a text that is no Python."""
        if file not in self._modules:
            tree, bound = syntax.parse(read_text(file)), dict[str, list[ast.stmt]]()
            for statement in tree.body:
                for binding in bindings(statement):
                    bound.setdefault(binding.name, []).append(statement)
            imports = {one.name: one.path for node in tree.body for one in imported(node) if one.name != "*"}
            self._modules[file] = Module(file, tree, bound, imports)
        return self._modules[file]

    def found(self, path: str, importer: Path) -> Key | Path | None:
        """What a full name means in the importer's package: a definition, or the file of a module. None for other
        packages, and for what is not found."""
        above, _, name = path.rpartition(".")
        file = file_of(above, importer) if above else None
        module = above + name if above.endswith(".") else path
        return (self._defined(file, name) if file is not None else None) or file_of(module, importer)

    def definition(self, file: Path, name: str) -> Key:
        """The definition of a module's name, behind imports too. Raises `NotFoundError`."""
        key = self._defined(file, name)
        if not isinstance(key, tuple):
            raise NotFoundError(f"{file} does not define {name}")
        return key

    def _defined(self, file: Path, name: str) -> Key | Path | None:
        module = self.module(file)
        if name in module.imports and len(module.bound[name]) == 1:
            return self.found(module.imports[name], file) or (file, name)
        if name in module.bound:
            return file, name
        sources = (source for one in module.starred if (source := file_of(one, file)) is not None)
        return next((key for source in sources if (key := self._defined(source, name)) is not None), None)


def file_of(module: str, importer: Path) -> Path | None:
    """The file of a module; None if it is not in the importer's package or beside it. module: its full name, with dots
    in front where it is relative."""
    path = module.lstrip(".")
    parts = path.split(".") if path else []
    folders = [importer.parent, *importer.parent.parents]
    if level := len(module) - len(path):
        roots = folders[level - 1 : level]
    elif parts[0] in NEVER:
        return None
    else:
        tops = (one for one in folders if one.name == parts[0] and not (one.parent / "__init__.py").is_file())
        roots = [folders[0], *(one.parent for one in tops)]
    places = [root.joinpath(*parts) for root in roots]
    plain = [place.with_suffix(".py") for place in places if parts]
    files = [*plain, *(place / "__init__.py" for place in places)]
    return next((file for file in files if file.is_file() and file != importer), None)
