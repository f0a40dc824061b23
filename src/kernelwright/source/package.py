"""Finds what a file imports from other modules of its own package, or from files beside it, in their text.

Nothing is imported or run. Torch, Triton, numpy and Python's own modules are never the file's, whatever its folders are
called.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import base_name, bindings, free_names, imported
from kernelwright.textfile import read_text

NEVER = frozenset({*sys.stdlib_module_names, "torch", "triton", "numpy"})


class NotCopiedError(Exception):
    """Something that cannot be copied so that it means the same. The text of the error says what."""


@dataclass(frozen=True)
class Key:
    """A definition: the file and the name that it has there."""

    file: Path
    name: str


@dataclass(frozen=True)
class Import:
    """A name that an import binds. module: its full name, with dots in front where it is relative. name: what is
    imported from the module; None for the module itself. statement: an import of this name alone."""

    module: str
    name: str | None
    statement: ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Module:
    """The text of a file."""

    file: Path
    tree: ast.Module

    @cached_property
    def bound(self) -> dict[str, list[ast.stmt]]:
        """The statements that bind each name of the module."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name in {binding.name for binding in bindings(statement)}:
                found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def imports(self) -> dict[str, list[Import]]:
        """The imports at module level, by the name that they bind; "*" stands for every name of a module."""
        found: dict[str, list[Import]] = {}
        for node in self.tree.body:
            for one in imported(node):
                if isinstance(node, ast.ImportFrom):
                    alone = ast.ImportFrom(node.module, [one.alias], node.level)
                    made = Import("." * node.level + (node.module or ""), one.alias.name, alone)
                else:
                    made = Import(one.path, None, ast.Import([one.alias]))
                found.setdefault(one.name, []).append(made)
        return found

    @cached_property
    def changed(self) -> set[str]:
        """Names whose values change after their definition: something is written into them, or a method is called for
        what it does, or a function that is called at module level states them as global."""
        found = set[str]()
        for node in ast.walk(self.tree):
            match node:
                case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                    found.add(base_name(node) or "")
                case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                    found.add(base_name(method) or "")
                case _:
                    pass
        acts = any(isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) for one in self.tree.body)
        return found | (self.stated_global if acts else set())

    @cached_property
    def stated_global(self) -> set[str]:
        return {name for node in ast.walk(self.tree) if isinstance(node, ast.Global) for name in node.names}

    @cached_property
    def known(self) -> set[str]:
        """Names of the module that it binds or reads."""
        read = {name for one in self.tree.body for name in free_names(one, ("module", "class"))}
        return {*self.bound, *self.stated_global, *read}


class Package:
    """Reads modules, each once."""

    def __init__(self) -> None:
        self._modules: dict[Path, Module] = {}

    def module(self, file: Path) -> Module:
        """Raises `NotCopiedError` for a file that cannot be read or is not Python."""
        if file not in self._modules:
            try:
                self._modules[file] = Module(file, syntax.parse(read_text(file)))
            except (OSError, SyntaxError, ValueError) as error:
                raise NotCopiedError(f"{file}: {error}") from error
        return self._modules[file]

    def found(self, one: Import, importer: Path) -> Key | Path | None:
        """What is imported from the importer's package: a definition, or the file of a module. None for another
        package, and for what is not found. Raises `NotCopiedError`."""
        file = file_of(one.module, importer)
        if one.name is None or file is None:
            return file if one.name is None else _within(one.module, one.name, importer)
        return self.defined(file, one.name) or _within(one.module, one.name, importer)

    def defined(self, file: Path, name: str, seen: frozenset[Path] = frozenset()) -> Key | Path | None:
        """What a name means in a module: a definition, also behind imports, or the file of a module; None if the module
        does not bind it."""
        module = self.module(file)
        imports = module.imports.get(name, [])
        if name in module.bound and self._starred(module, name, seen):
            raise NotCopiedError(f"{file} has {name} from two modules")
        if len(imports) == 1 == len(module.bound[name]):
            return self.found(imports[0], file) or Key(file, name)
        if name in module.bound:
            return Key(file, name)
        keys = self._starred(module, name, seen)
        if len(keys) > 1:
            raise NotCopiedError(f"{file} has {name} from two modules")
        return next(iter(keys), None)

    def _starred(self, module: Module, name: str, seen: frozenset[Path]) -> set[Key | Path]:
        """What imports of every name of a module bind a name to."""
        if "*" not in module.imports or name.startswith("_") or module.file in seen:
            return set()
        sources = [found for one in module.imports["*"] if (found := file_of(one.module, module.file)) is not None]
        keys = {self._exported(one, name, seen | {module.file}) for one in sources}
        return {one for one in keys if one is not None}

    def _exported(self, file: Path, name: str, seen: frozenset[Path]) -> Key | Path | None:
        """As `defined`, for an import of every name."""
        stated = self.module(file).bound.get("__all__")
        words = {one.value for part in stated or [] for one in ast.walk(part) if isinstance(one, ast.Constant)}
        return self.defined(file, name, seen) if stated is None or name in words else None


def _within(module: str, name: str, importer: Path) -> Path | None:
    """The file of a module in another module, which is a package or a folder."""
    return file_of(f"{module}{name}" if module.endswith(".") else f"{module}.{name}", importer)


def file_of(module: str, importer: Path) -> Path | None:
    """The file of a module of the importer's package, or of a script beside a script; None for others, and for the
    importer itself. module: its full name, with dots in front where it is relative."""
    path = module.lstrip(".")
    parts = path.split(".") if path else []
    folders = [importer.parent, *importer.parent.parents]
    if level := len(module) - len(path):
        roots = folders[level - 1 : level]
    elif parts[0] in NEVER:
        return None
    else:
        roots = [one.parent for one in folders if one.name == parts[0] and not _is_package(one.parent)]
        roots += [folders[0]] if not _is_package(folders[0]) else []
    places = [root.joinpath(*parts) if parts else root for root in roots]
    files = [
        file for place in places for file in (place / "__init__.py", *([place.with_suffix(".py")] if parts else []))
    ]
    return next((file for file in files if file.is_file() and file != importer), None)


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()
