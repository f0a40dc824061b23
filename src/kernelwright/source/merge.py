"""Merges a published file with what it uses of its package, since a candidate is one file.

From other modules of the package, and from files beside a script, the functions, classes and constants that the file
uses, directly or through others, are copied behind its first imports: without comments, in the order of their modules,
and under the names that they have there. What might mean something else in the merged text stays an import, which the
judge names: a name that the file or another copy uses otherwise, one that is bound twice or changed, an import inside
another statement, `import *` in the file. What only decorates kernels stays one, too; the judge leaves it out.
"""

from __future__ import annotations

import ast
import builtins
import copy
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import base_name, bindings, free_names, imported, names_in, stored_names
from kernelwright.source.edits import Edit, edited, narrowed
from kernelwright.source.kernels import jit_functions
from kernelwright.source.package import Import, Key, Module, NotCopiedError, Package
from kernelwright.textfile import read_text

BUILTINS = frozenset(dir(builtins))

Place = tuple[Path, int, int]
"""Of a statement: its file, line and column."""

OF_THE_FILE = frozenset({"__doc__", "__file__", "__package__", "__path__", "globals"})
"""Names that mean something else in another file."""


@dataclass(frozen=True)
class Merged:
    """text: the merged one. names: of the copied definitions, by file. After `line` of the file, `more` lines were
    added; both are 0 where nothing was copied."""

    text: str
    names: dict[str, list[str]] = field(default_factory=dict)
    line: int = 0
    more: int = 0


def merged(file: Path) -> Merged:
    """Raises `OSError` and `UnicodeDecodeError` for the file itself. One that is not Python is unchanged."""
    text = read_text(file)
    try:
        tree = syntax.parse(text)
    except (SyntaxError, ValueError):
        return Merged(text)
    return _merged(text, Module(file, tree), Package())


def _merged(text: str, main: Module, package: Package) -> Merged:
    own = _own(main, package)
    read = names_in(main.tree) - _above_kernels(main.tree.body, main.tree)
    copies, edits = _Copies(main, package, own), list[Edit]()
    statements = [one for one in main.tree.body if not isinstance(one, ast.Import | ast.ImportFrom)]
    copied = set[str]()
    for name, found in own.items():
        attempt, uses = copies.attempt(), list[tuple[ast.Attribute, Key]]()
        try:
            if name not in read:
                continue
            if isinstance(found, Path):
                uses = [use for one in statements for use in attempt.attributes(one, name, found)]
            else:
                attempt.need(found)
                attempt.alias(main, name, found)
            attempt.lines()
        except (NotCopiedError, RecursionError):  # the latter of modules that import each other
            continue
        copies = attempt
        copied.add(name)
        edits += [Edit(node, node, key.name) for node, key in uses]
    if not copies.made:
        return Merged(text)
    edits += _without(main, copied | copies.names.keys())
    lines, line = copies.lines(), copies.line
    every = [one for one in main.tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    taken = Counter(number for one in main.tree.body for number in range(one.lineno, (one.end_lineno or 0) + 1))
    if any(taken[one.lineno] > 1 or taken[one.end_lineno or 0] > 1 for one in every):
        return Merged(text)  # an import that shares its line cannot be left out by lines
    parts = edited(text, edits).splitlines()
    found_names: dict[str, list[str]] = {}
    for name, key in copies.names.items():
        if name == key.name:
            found_names.setdefault(os.path.relpath(key.file, main.file.parent), []).append(name)
    return Merged("\n".join([*parts[:line], *lines, *parts[line:]]) + "\n", found_names, line, len(lines))


def _own(main: Module, package: Package) -> dict[str, Key | Path]:
    """What the file's imports mean in its package; without names that are bound again or changed."""
    found: dict[str, Key | Path] = {}
    for name in main.imports.keys() - main.changed - main.stated_global:
        imports = main.imports[name]
        with suppress(NotCopiedError, RecursionError):
            one = package.found(imports[0], main.file)
            if one is not None and len(imports) == 1 == len(main.bound[name]):
                found[name] = one
    return {name: found[name] for name in main.imports if name in found}


def _above_kernels(statements: Iterable[ast.stmt], tree: ast.Module) -> set[str]:
    """Names that decorate kernels among these statements and are used for nothing else there."""
    every = Counter(one.id for part in statements for one in ast.walk(part) if isinstance(one, ast.Name))
    decorators = [one for function in jit_functions(tree) for one in function.decorators if not one.is_jit]
    above = Counter(base_name(one.node) for one in decorators)
    return {name for name, count in above.items() if name is not None and count == every[name]}


def _without(main: Module, copied: set[str]) -> list[Edit]:
    """Edits that remove what was copied from the file's imports."""
    edits = []
    for node in main.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            kept = [one.alias for one in imported(node) if one.name not in copied]
            if len(kept) < len(node.names):
                edits.append(Edit(node, node, narrowed(node, kept) if kept else ""))
    return edits


@dataclass
class _Copies:
    """What is copied so far. own: what the file's imports mean. names: definitions by their names in the merged text.
    made: the copied statements by their places. before: by file, the files whose definitions it needs. aliases: by
    file, further names of definitions. outside: imports of other packages, by the names that they bind."""

    main: Module
    package: Package
    own: Mapping[str, Key | Path]
    names: dict[str, Key] = field(default_factory=dict)
    made: dict[Place, ast.stmt] = field(default_factory=dict)
    before: dict[Path, set[Path]] = field(default_factory=dict)
    aliases: dict[tuple[Path, str], str] = field(default_factory=dict)
    outside: dict[str, list[str]] = field(default_factory=dict)

    def attempt(self) -> _Copies:
        before = {file: {*files} for file, files in self.before.items()}
        return replace(self, names={**self.names}, made={**self.made}, before=before,
                       aliases={**self.aliases}, outside={**self.outside})  # fmt: skip

    def need(self, key: Key) -> None:
        """Copy a definition and what it needs. Raises `NotCopiedError`."""
        module = self.package.module(key.file)
        if key.file == self.main.file or key.name in module.changed:
            raise NotCopiedError(f"{key.name} of {key.file} is changed, or the file's own")
        self._claim(key.name, key)
        for statement in module.bound.get(key.name, []):
            if _place(module, statement) not in self.made:
                self._copy(statement, module)

    def _copy(self, statement: ast.stmt, module: Module) -> None:
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.If | ast.Try):
            raise NotCopiedError(f"line {statement.lineno} of {module.file} is no definition")
        self.made[_place(module, statement)] = made = _bare(statement, module)
        self.before.setdefault(module.file, set())
        for name in sorted({binding.name for binding in bindings(statement)}):
            self.need(Key(module.file, name))
        self._refuse(made, module)
        above = _above_kernels([made], module.tree) & module.imports.keys()
        for name in sorted(_needs(made)):
            if name in above:
                self._add_outside(name, module)
            else:
                self._resolve(name, made, module)

    def alias(self, module: Module, name: str, key: Key) -> None:
        """Another name of a definition in a module."""
        if module.file != self.main.file:
            self._claim(name, key)
        if name != key.name:
            self.aliases[module.file, name] = key.name

    def attributes(self, statement: ast.stmt, name: str, file: Path) -> list[tuple[ast.Attribute, Key]]:
        """The attributes of a module that a statement reads by `name`, with their definitions, which are copied. Raises
        `NotCopiedError` where the module is used otherwise."""
        found = [one for one in ast.walk(statement) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
                 and isinstance(one.value, ast.Name) and one.value.id == name]  # fmt: skip
        local = stored_names(statement)
        if any(isinstance(one, ast.JoinedStr) and name in names_in(one) for one in ast.walk(statement)):
            raise NotCopiedError(f"{name} is used in an f-string, which may show its text")
        if name in local or len(found) < sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(statement)):
            raise NotCopiedError(f"{name} is not only read by attributes")
        uses = []
        for node in found:
            key = self.package.defined(file, node.attr)
            if not isinstance(key, Key) or key.name in local:
                raise NotCopiedError(f"{name}.{node.attr} is not defined, or hidden by a local variable")
            self.need(key)
            uses.append((node, key))
        return uses

    def lines(self) -> list[str]:
        """The copies with the imports that they need. Raises `NotCopiedError` where files need each other."""
        try:
            order = [*TopologicalSorter({one: sorted(self.before[one]) for one in sorted(self.before)}).static_order()]
        except CycleError as error:
            raise NotCopiedError("files need each other") from error
        found = [text for texts in self.outside.values() for text in texts]
        for file in order:
            found += ["", f"# from {os.path.relpath(file, self.main.file.parent)}"]
            found += [f"{name} = {other}" for (place, name), other in self.aliases.items() if place == file]
            for place in sorted(place for place in self.made if place[0] == file):
                found += ["", *ast.unparse(self.made[place]).splitlines()]
        found += [f"{name} = {other}" for (place, name), other in self.aliases.items() if place == self.main.file]
        return [*found, ""]

    @property
    def line(self) -> int:
        """The last line of the imports at the head of the file; without any, of its first import."""
        head = []
        for one in self.main.tree.body:
            if isinstance(one, ast.Import | ast.ImportFrom):
                head.append(one)
            elif not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
                break
        every = head[-1:] or [one for one in self.main.tree.body if isinstance(one, ast.Import | ast.ImportFrom)][:1]
        return every[0].end_lineno or every[0].lineno

    def _claim(self, name: str, key: Key) -> None:
        """Raises `NotCopiedError` where the merged text has the name for something else."""
        is_known = self.names.get(name, key) == key and name not in self.outside and name not in BUILTINS
        if not is_known or (name in self.main.known and self.own.get(name) != key):
            raise NotCopiedError(f"{name} means something else in the file or in another copy")
        self.names[name] = key

    def _resolve(self, name: str, statement: ast.stmt, module: Module) -> None:
        """Copy what a name means that a statement of a module reads."""
        found = self.package.defined(module.file, name)
        if found is None:
            if name not in BUILTINS or name in {*self.main.bound, *self.names, *self.outside}:
                raise NotCopiedError(f"{name} is not known in {module.file}")
        elif isinstance(found, Path):
            uses = self.attributes(statement, name, found)
            self.before[module.file] |= {key.file for _, key in uses}
            _Named({id(node): key.name for node, key in uses}).visit(statement)
        elif found.file != module.file:
            self.before[module.file].add(found.file)
            self.need(found)
            self.alias(module, name, found)
        elif name in module.imports:
            self._add_outside(name, module)
        else:
            self.need(found)

    def _add_outside(self, name: str, module: Module) -> None:
        texts = [ast.unparse(one.statement) for one in module.imports[name]]
        if len(texts) < len(module.bound[name]) or name in self.names or name in BUILTINS:
            raise NotCopiedError(f"{name} is not only an import, or has a second meaning")
        if name in self.main.bound:
            here = self.main.imports.get(name, [])
            if len(here) < len(self.main.bound[name]) or {ast.unparse(one.statement) for one in here} != {*texts}:
                raise NotCopiedError(f"{name} means something else in the file")
            head = [one for one in self.main.bound[name] if (one.end_lineno or 0) <= self.line]
            texts = texts if len(head) < len(here) else []
        elif name in self.main.known:
            raise NotCopiedError(f"{name} is not known in the file")
        if self.outside.setdefault(name, texts) != texts:
            raise NotCopiedError(f"{name} means something else in another copy")

    def _refuse(self, statement: ast.stmt, module: Module) -> None:
        """Raises `NotCopiedError` for what means something else in another file."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Global) or (isinstance(node, ast.Name) and node.id in OF_THE_FILE):
                raise NotCopiedError(f"{module.file} uses {ast.unparse(node)}")
            if isinstance(node, ast.Import | ast.ImportFrom):
                level = node.level if isinstance(node, ast.ImportFrom) else 0
                path = "." * level + (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
                if level or self.package.found(Import(path, None, node), module.file) is not None:
                    raise NotCopiedError(f"{module.file} imports {path} inside another statement")


class _Named(ast.NodeTransformer):
    """Puts names in the place of attributes. names: by the attribute's id."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return ast.Name(self.names[id(node)], ast.Load()) if id(node) in self.names else node


def _place(module: Module, statement: ast.stmt) -> Place:
    return module.file, statement.lineno, statement.col_offset


def _bare(statement: ast.stmt, module: Module) -> ast.stmt:
    """A copy without annotations, except those of kernels and classes. Raises `NotCopiedError` for a class whose
    annotations are not evaluated."""
    made = copy.deepcopy(statement)
    is_kernel = any(one.node is statement for one in jit_functions(module.tree))
    late = any(one.module == "__future__" for one in module.imports.get("annotations", []))
    if isinstance(made, ast.ClassDef) and late:
        raise NotCopiedError(f"{made.name} of {module.file} may have annotations that are not evaluated")
    if isinstance(made, ast.FunctionDef) and not is_kernel:
        for node in ast.walk(made):
            if isinstance(node, ast.arg):
                node.annotation = None
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                node.returns = None
    return made


def _needs(statement: ast.stmt) -> set[str]:
    """The names of its module that a statement reads, those that a class binds and reads too."""
    found = free_names(statement, ("module", "class"))
    return found - {binding.name for binding in bindings(statement)} - {"__class__"}
