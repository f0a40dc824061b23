"""Merges a published file with what it uses of its package, since a candidate is one file.

From other modules of the package, and from files beside it, the functions, classes and constants that the file uses,
directly or through others, are copied behind its imports. A name that would clash gets the module's name at its end. No
other statement of these modules is copied, and nothing is run. What is not found, is imported inside another statement,
or only decorates kernels stays an import, which the judge leaves out or names.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from kernelwright.source.bindings import base_name, bindings, free_names, imported, parameters_of
from kernelwright.source.edits import Edit, edited, narrowed
from kernelwright.source.kernels import jit_functions
from kernelwright.source.package import Key, Module, NotFoundError, Package
from kernelwright.textfile import read_text

Definition = TypeVar("Definition", ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Merged:
    """text: the merged one. names: of what was copied, by the name of its file. line: behind this line of the file
    `more` lines were added."""

    text: str
    names: dict[str, list[str]] = field(default_factory=dict)
    line: int = 0
    more: int = 0


def merged(file: Path) -> Merged:
    """Raises `OSError` and `UnicodeDecodeError` for the file itself."""
    text = read_text(file)
    with suppress(SyntaxError, ValueError, OSError, RecursionError):  # what is wrong is for the judge to say
        package = Package()
        return _merged(text, package.module(file), package)
    return Merged(text)


def _merged(text: str, main: Module, package: Package) -> Merged:
    own = {name: found for name, path in main.imports.items() if (found := package.found(path, main.file)) is not None}
    copies, edits = _Copies(package, main), list[Edit]()
    for name in _above_kernels(main.tree) & own.keys():
        del own[name]  # the judge leaves these decorators out
    statements = [one for one in main.tree.body if not isinstance(one, ast.Import | ast.ImportFrom)]
    read = {name for one in statements for name in free_names(one)}
    for name, found in [*own.items()]:
        attempt = replace(copies, named={**copies.named}, made={**copies.made}, outside={**copies.outside})
        try:
            if isinstance(found, Path):
                edits += _attributes(statements, name, found, attempt)
            elif name in read:
                attempt.add(found, name)
        except NotFoundError:
            del own[name]
        else:
            copies = attempt
    if not own:
        return Merged(text)
    edits += _imports(main, own)
    anchor = _last_import(main)
    lines = copies.lines()
    own_text = next((one.text for one in edits if one.first is anchor), ast.unparse(anchor))
    edits = [*(one for one in edits if one.first is not anchor), Edit(anchor, anchor, "\n".join([own_text, *lines]))]
    whole = edited(text, edits)
    more = whole.count("\n") - text.count("\n")
    return Merged(whole, copies.by_file(), anchor.end_lineno or anchor.lineno, more)


def _above_kernels(tree: ast.Module) -> set[str]:
    """Names that decorate kernels and are used for nothing else."""
    every = Counter(one.id for one in ast.walk(tree) if isinstance(one, ast.Name))
    above = Counter(base_name(one.node) for function in jit_functions(tree) for one in function.decorators)
    return {name for name, count in above.items() if name is not None and count == every[name]}


def _attributes(statements: list[ast.stmt], name: str, file: Path, copies: _Copies) -> list[Edit]:
    """Names in place of the attributes of a module that the file imports as `name`."""
    nodes = [node for one in statements for node in ast.walk(one)]
    found = [one for one in nodes if isinstance(one, ast.Attribute) and ast.unparse(one.value) == name]
    if len(found) < sum(isinstance(one, ast.Name) and one.id == name for one in nodes):
        raise NotFoundError(f"{name} is used as a whole")
    return [Edit(one, one, copies.add(copies.package.definition(file, one.attr))) for one in found]


def _imports(main: Module, own: Collection[str]) -> list[Edit]:
    """The imports of what is copied, or not read, without it."""
    edits = []
    for node in main.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            kept = [one.alias for one in imported(node) if one.name not in own]
            if len(kept) < len(node.names):
                edits.append(Edit(node, node, narrowed(node, kept) if kept else ""))
    return edits


def _last_import(main: Module) -> ast.stmt:
    """The last import before the first definition, or else the first one."""
    first = next((one.lineno for one in main.tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)), None)
    every = [one for one in main.tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    return [one for one in every if first is None or one.lineno < first or one is every[0]][-1]


@dataclass
class _Copies:
    """main: the file. named: names in the merged text, by definition. made: the copied statements by the
    original's id, each behind what it needs. outside: full names of what they import from other packages, by name."""

    package: Package
    main: Module
    named: dict[Key, str] = field(default_factory=dict)
    made: dict[int, tuple[Path, ast.stmt]] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)

    def add(self, key: Key, wanted: str | None = None) -> str:
        """The name of a definition in the merged text, where it is copied together with what it needs. wanted: the name
        that the file imports it as. Raises `NotFoundError`."""
        file, name = key
        if key not in self.named:
            taken = {*self.main.bound, *dir(builtins), *self.named.values(), *self.outside}
            free = wanted or (name if name not in taken else f"{name}_{file.stem}")
            if wanted is None and free in taken:
                raise NotFoundError(f"{name} of {file} clashes")
            self.named[key] = free
            for statement in self.package.module(file).bound[name]:
                self._copy(file, statement, name)
        if wanted not in (None, self.named[key]):
            raise NotFoundError(f"{wanted} is a second name of {self.named[key]}")
        return self.named[key]

    def _copy(self, file: Path, statement: ast.stmt, name: str) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            raise NotFoundError(f"{name} of {file} comes from elsewhere")
        if id(statement) in self.made:
            return
        self.made[id(statement)] = file, statement
        for other in sorted({one.name for one in bindings(statement)} - {name}):
            self.add((file, other))
        made = _Renamed(self, self.package.module(file)).visit(copy.deepcopy(statement))
        del self.made[id(statement)]
        self.made[id(statement)] = file, made

    def name_of(self, name: str, module: Module) -> str:
        """The merged text's name for one that a copied statement of a module reads."""
        if name not in module.bound:
            return name
        key = self.package.definition(module.file, name)
        path = module.imports.get(name, "")
        if key != (module.file, name) or not path:
            return self.add(key)
        known = self.main.imports.get(name, "") if name in self.main.bound else self.outside.setdefault(name, path)
        if path.startswith(".") or name in self.named.values() or known != path:
            raise NotFoundError(f"{path} is not found, or {name} has two meanings")
        return name

    def lines(self) -> list[str]:
        """The copies with the imports that they need."""
        found: list[str] = []
        for name, path in self.outside.items():
            above, _, last = path.rpartition(".")
            found.append(
                (f"from {above} import {last}" if above else f"import {path}") + f" as {name}" * (name != last)
            )
        before: Path | None = None
        for file, statement in self.made.values():
            found += [f"\n# from {file.name}"] * (file != before) + [ast.unparse(statement), ""]
            before = file
        return found

    def by_file(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for (file, _), name in self.named.items():
            found.setdefault(file.name, []).append(name)
        return found


class _Renamed(ast.NodeTransformer):
    """Puts the merged text's names into a statement of a module."""

    def __init__(self, copies: _Copies, module: Module) -> None:
        self.copies, self.module = copies, module
        self.local: list[set[str]] = []

    def _is_local(self, name: str) -> bool:
        return any(name in one for one in self.local)

    def _name(self, name: str) -> str:
        return name if self._is_local(name) else self.copies.name_of(name, self.module)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._name(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and not self._is_local(node.value.id):
            path = self.module.imports.get(node.value.id, "")
            file = self.copies.package.found(path, self.module.file) if path else None
            if isinstance(file, Path):
                return ast.Name(self.copies.add(self.copies.package.definition(file, node.attr)), node.ctx)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        stars = [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
        return self._scope(node, {one.arg for one in (*parameters_of(node.args), *stars)})

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return self._scope(node, set())

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.local.append({one.arg for one in parameters_of(node.args)})
        self.generic_visit(node)
        self.local.pop()
        return node

    def _scope(self, node: Definition, local: set[str]) -> Definition:
        """Its head belongs to the scope outside, its body has local names."""
        body, node.body = node.body, []
        self.generic_visit(node)
        node.name = self._name(node.name)
        self.local.append(local | {one.name for part in body for one in bindings(part)})
        node.body = [self.visit(one) for one in body]
        self.local.pop()
        return node
