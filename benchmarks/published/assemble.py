"""Makes a candidate file of each published kernel: `python -m benchmarks.published.assemble OUT --from FOLDER`.

FOLDER holds the projects: bare git directories OWNER+NAME/repo, and wheels. A candidate in OUT/candidates holds the
definitions that a kernel needs, from its project's files, and our adapter. `--name PATTERN` assembles only some, and
`--list LIST` those of another folder with `kernels/` and `problems/`.

What the adapter names is looked up in the kernel's file, and so on through the project's modules, by syntax; nothing of
a project is imported or run. Definitions keep their text. Changed are only names: `module.name` of a module of the
project becomes `name`, and a name that two modules bind gets a suffix. Imports of the project inside functions count as
the module's. What a project's entry in the manifest lists under `instead` (launch caches, guards of the current device,
tables that are read from files) is left out or replaced.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import fnmatch
import itertools
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from benchmarks.published.manifest import HERE, Kernel, Project, kernels

MADE = "made:"
"""How what stands for an object that a module makes when it is asked begins: `made:MODULE:FUNCTION`, which makes it."""
KEEP = "keep:"
"""How what stands for a decorator with more arguments than Triton's begins: `keep:ARGUMENTS:NAME`."""
TABLES = ("configs:", "table:")
"""How what stands for a function of a table begins: `configs:FILE.yaml` of autotuning configs, `table:MODULE:DICT`."""
SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
BUILTINS = frozenset(dir(builtins))


class AssemblyError(Exception):
    """A published file does not have what the manifest says."""


@dataclass(frozen=True)
class Files:
    """The files of a project: a bare git directory at a commit, or a wheel. root: the folder of its packages."""

    place: Path
    commit: str
    root: str = ""

    @cached_property
    def names(self) -> frozenset[str]:
        if self.place.suffix == ".whl":
            return frozenset(zipfile.ZipFile(self.place).namelist())
        return frozenset(self._git("ls-tree", "-r", "--name-only", self.commit).splitlines())

    def read(self, path: str) -> str:
        """Text of a file; raises AssemblyError where the project has none at this path."""
        if path not in self.names:
            raise AssemblyError(f"{self.place} has no file {path} at {self.commit}")
        if self.place.suffix == ".whl":
            return zipfile.ZipFile(self.place).read(path).decode()
        return self._git("show", f"{self.commit}:{path}")

    def module(self, dotted: str) -> str | None:
        """Path of a module of the project, None where it is not one."""
        base = self.root + dotted.replace(".", "/")
        return next((path for path in (f"{base}.py", f"{base}/__init__.py") if path in self.names), None)

    def _git(self, *arguments: str) -> str:
        command = ["git", f"--git-dir={self.place}", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@dataclass
class Module:
    """One file of a project. bound: what each module-level name is bound by, in the file's order. decided: tests of
    module-level `if` statements and how they turn out on an NVIDIA GPU."""

    dotted: str
    path: str
    text: str
    is_package: bool
    decided: Mapping[str, bool] = field(default_factory=dict)
    bound: dict[str, list[ast.stmt]] = field(default_factory=dict)
    is_deferred: bool = False

    def __post_init__(self) -> None:
        for statement in self._executed(ast.parse(self.text).body):
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                self.is_deferred = True
            for name in bound_by(statement):
                self.bound.setdefault(name, []).append(statement)

    def _executed(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        """Module-level statements, of a decided `if` those of the branch that is taken."""
        for statement in body:
            test = ast.unparse(statement.test) if isinstance(statement, ast.If) else ""
            if isinstance(statement, ast.If) and test in self.decided:
                yield from self._executed(statement.body if self.decided[test] else statement.orelse)
            else:
                yield statement

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    def package_of(self, level: int) -> str:
        """The package that `level` dots in front of a relative import mean."""
        parts = self.dotted.split(".")
        return ".".join(parts[: len(parts) - level + self.is_package])


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """Names that a module-level statement binds, also in its branches, not in the functions inside."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.If() | ast.Try() | ast.With() | ast.For():
            blocks = [getattr(statement, block, []) for block in ("body", "orelse", "finalbody")]
            blocks += [handler.body for handler in getattr(statement, "handlers", [])]
            yield from (name for block in blocks for inner in block for name in bound_by(inner))
        case _:
            yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def free_names(node: ast.AST, local: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """The names under `node` that no function, lambda or comprehension around them binds."""
    if isinstance(node, ast.Name):
        if node.id not in local:
            yield node
    elif isinstance(node, SCOPES | COMPREHENSIONS):
        yield from _free_in_scope(node, local)
    else:
        for child in ast.iter_child_nodes(node):
            yield from free_names(child, local)


def _free_in_scope(node: ast.AST, local: frozenset[str]) -> Iterator[ast.Name]:
    inside = local
    outside: list[ast.AST] = []
    if isinstance(node, COMPREHENSIONS):
        inside |= {n.id for c in node.generators for n in ast.walk(c.target) if isinstance(n, ast.Name)}
    elif not isinstance(node, ast.ClassDef):
        arguments = [n for n in ast.walk(node.args) if isinstance(n, ast.arg)]
        outside = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        outside += [a.annotation for a in arguments if a.annotation]
        outside += [*getattr(node, "decorator_list", []), *([node.returns] if getattr(node, "returns", None) else [])]
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        inside |= {argument.arg for argument in arguments} | {name for part in body for name in _stored(part)}
        inside -= {name for part in body for n in ast.walk(part) if isinstance(n, ast.Global) for name in n.names}
        for child in body:
            yield from free_names(child, inside)
        for child in outside:
            yield from free_names(child, local)
        return
    for child in ast.iter_child_nodes(node):
        yield from free_names(child, inside)


def _stored(node: ast.AST) -> Iterator[str]:
    """Names that the code of one function binds, not the functions inside it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    if not isinstance(node, SCOPES | COMPREHENSIONS):
        for child in ast.iter_child_nodes(node):
            yield from _stored(child)


Edit = tuple[int, int, int, int, str]
"""First line and column, last line and column of a piece of text (bytes, as `ast` counts), and what replaces it."""


class Assembly:
    """Takes definitions out of a project until nothing is missing."""

    def __init__(self, files: Files, instead: Mapping[str, str], decided: Mapping[str, bool]) -> None:
        self.files, self.instead, self.decided = files, instead, decided
        self.modules: dict[str, Module] = {}
        self.imports: dict[str, None] = {}
        self.parts: list[str] = []
        self.taken: dict[str, object] = {}
        self.names: dict[tuple[str, str], str] = {}
        self.seen: set[tuple[str, int]] = set()
        self.is_deferred = False

    def candidate(self, path: str, adapter: str) -> str:
        """The text of a candidate for the kernel file `path`."""
        dotted = path.removeprefix(self.files.root).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        module = self.module(dotted, path)
        own = {name for statement in ast.parse(adapter).body for name in bound_by(statement)}
        for name in own:
            self.taken[name] = "adapter"
        ours = Module("adapter", "adapter", adapter, False)
        text = self._rewritten(ours, ast.parse(adapter), module, own)
        head = ["from __future__ import annotations"] if self.is_deferred else []
        imports = [*head, *self.imports]
        return "\n".join(imports) + "\n\n\n" + "\n\n\n".join(part.strip("\n") for part in [*self.parts, text]) + "\n"

    def module(self, dotted: str, path: str) -> Module:
        if dotted not in self.modules:
            is_package = path.endswith("__init__.py")
            module = Module(dotted, path, self.files.read(path), is_package, self.decided)
            text = self._hoisted(module)
            if text != module.text:
                module = Module(dotted, path, text, is_package, self.decided)
            self.modules[dotted] = module
        return self.modules[dotted]

    def _hoisted(self, module: Module) -> str:
        """The text with imports of the project that are inside functions at its end."""
        inner = [node for function in ast.walk(ast.parse(module.text)) if isinstance(function, ast.FunctionDef)
                 for node in ast.walk(function) if isinstance(node, ast.ImportFrom)]  # fmt: skip
        edits: list[Edit] = []
        moved: dict[str, None] = {}
        for node in inner:
            source = ".".join(p for p in (module.package_of(node.level) if node.level else "", node.module or "") if p)
            if self.files.module(source):
                edits.append((node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0, "pass"))
                moved[ast.unparse(node)] = None
        if not edits:
            return module.text
        return _edited(module, ast.parse(module.text), edits).rstrip("\n") + "\n" + "\n".join(moved) + "\n"

    def _take(self, module: Module, name: str) -> str:
        """Add what binds `name` in `module` to the candidate; the name it has there."""
        key = (module.dotted, name)
        if key not in self.names:
            if self.taken.setdefault(name, key) == key:
                self.names[key] = name
            else:
                self.names[key] = f"{name}_of_{module.dotted.replace('.', '_')}"
                self.taken[self.names[key]] = key
            for statement in module.bound[name]:
                self._add(module, statement)
        return self.names[key]

    def _add(self, module: Module, statement: ast.stmt) -> None:
        if (module.dotted, id(statement)) in self.seen:
            return
        self.seen.add((module.dotted, id(statement)))
        self.is_deferred |= module.is_deferred
        for name in bound_by(statement):
            if self.taken.setdefault(name, (module.dotted, name)) == (module.dotted, name):
                self.names.setdefault((module.dotted, name), name)
        text = self._rewritten(module, statement, module, set())
        if text.strip():
            self.parts.append(text)

    def _resolved(self, module: Module, name: str) -> str | Module | None:
        """What `name` is in `module`: an expression for the candidate, a module of the project, None for neither."""
        replaced = self.instead.get(f"{module.dotted}.{name}")
        if replaced is not None:
            return self._replacement(replaced)
        for statement in module.bound.get(name, []):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                return self._imported(module, statement, name)
        return self._take(module, name) if name in module.bound else None

    def _replacement(self, text: str) -> str:
        """Of `instead`: an import, or an expression of torch and Triton."""
        if text.startswith((KEEP, *TABLES)):
            return text
        if text.startswith(MADE):
            _, dotted, name = text.split(":")
            return self._take(self.module(dotted, self.files.module(dotted) or dotted), name) + "()"
        tree = ast.parse(text).body
        if tree and isinstance(tree[0], ast.Import | ast.ImportFrom):
            return self._external(text, next(iter(bound_by(tree[0]))))
        for name in ("torch", "triton"):
            if text.partition(".")[0] == name:
                self._external(f"import {name}", name)
        return text

    def _external(self, statement: str, name: str) -> str:
        if self.taken.setdefault(name, statement) != statement:
            other = f"{name}_of_import"
            return self._external(f"{statement.partition(' as ')[0]} as {other}", other)
        self.imports[statement] = None
        return name

    def _imported(self, module: Module, statement: ast.Import | ast.ImportFrom, name: str) -> str | Module:
        for alias in statement.names:
            bound = alias.asname or alias.name.partition(".")[0]
            if bound != name:
                continue
            if isinstance(statement, ast.Import):
                path = self.files.module(alias.name if alias.asname else bound)
                if path:
                    return self.module(alias.name if alias.asname else bound, path)
                return self._external(f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""), name)
            source = statement.module or ""
            if statement.level:
                source = ".".join(part for part in (module.package_of(statement.level), source) if part)
            if f"{source}.{alias.name}" in self.instead:
                return self._replacement(self.instead[f"{source}.{alias.name}"])
            inner, outer = self.files.module(f"{source}.{alias.name}"), self.files.module(source)
            if outer and self.module(source, outer) is not module:
                found = self._resolved(self.module(source, outer), alias.name)
                if found is not None:
                    return found
            if inner:
                return self.module(f"{source}.{alias.name}", inner)
            if outer:
                raise AssemblyError(f"{module.path}: {source} has no {alias.name}")
            as_name = f" as {alias.asname}" if alias.asname else ""
            return self._external(f"from {source} import {alias.name}{as_name}", name)
        raise AssemblyError(f"{module.path} does not import {name}")

    def _rewritten(self, module: Module, node: ast.AST, scope: Module, own: set[str]) -> str:
        """The text of a statement with every name from elsewhere replaced by the candidate's name for it."""
        parents = {id(child): parent for parent in ast.walk(node) for child in ast.iter_child_nodes(parent)}
        edits: list[Edit] = []
        for name in free_names(node):
            if name.id in own or (name.id in BUILTINS and name.id not in scope.bound):
                continue
            found = self._resolved(scope, name.id)
            whole: ast.expr = name
            path = f"{scope.dotted}.{name.id}"
            while isinstance(found, Module):
                path = found.dotted
                parent = parents.get(id(whole))
                if not isinstance(parent, ast.Attribute):
                    raise AssemblyError(f"{module.path}: the module {found.dotted} is used as a value")
                whole, module_found = parent, found
                found = self._resolved(module_found, whole.attr)
                path = f"{module_found.dotted}.{whole.attr}"
                if found is None:
                    inner = self.files.module(path)
                    if inner is None:
                        raise AssemblyError(f"{module.path}: {path} is not found")
                    found = self.module(path, inner)
            if found is None:
                continue
            call = parents.get(id(whole))
            if not found:
                edits += _without(whole, parents)
            elif found.startswith(KEEP) and isinstance(call, ast.Call):
                kept, _, found = found.removeprefix(KEEP).partition(":")
                edits.append((whole.lineno, whole.col_offset, whole.end_lineno or 0, whole.end_col_offset or 0,
                              self._replacement(found)))  # fmt: skip
                edits += _dropped(call, kept.split(","))
            elif found.startswith(TABLES) and isinstance(call, ast.Call):
                edits.append((call.lineno, call.col_offset, call.end_lineno or 0, call.end_col_offset or 0,
                              self._entry(found, ast.literal_eval(call.args[0]))))  # fmt: skip
            elif whole is not name or found != name.id:
                edits.append((whole.lineno, whole.col_offset, whole.end_lineno or 0, whole.end_col_offset or 0, found))
        edits += self._renamed(module, node)
        removed = [edit for edit in edits if not edit[4]]
        return _edited(module, node, [edit for edit in edits if not any(_is_inside(edit, other) for other in removed)])

    def _entry(self, table: str, key: str) -> str:
        """What a call of a table's function gives for `key`."""
        kind, _, place = table.partition(":")
        if kind == "configs":
            self._external("import triton", "triton")
            return configs(yaml.safe_load(self.files.read(place))[key])
        dotted, _, name = place.partition(":")
        module = self.module(dotted, self.files.module(dotted) or dotted)
        for statement in module.bound[name]:
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict):
                for found, value in zip(statement.value.keys, statement.value.values, strict=True):
                    if isinstance(found, ast.Constant) and found.value == key:
                        return self._rewritten(module, value, module, set())
        raise AssemblyError(f"{dotted}.{name} has no {key!r}")

    def _renamed(self, module: Module, node: ast.AST) -> list[Edit]:
        """The name of a definition that another module had first."""
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            return []
        name = self.names.get((module.dotted, node.name), node.name)
        if name == node.name:
            return []
        line = module.lines[node.lineno - 1].encode()
        at = line.index(node.name.encode(), node.col_offset + 4)
        return [(node.lineno, at, node.lineno, at + len(node.name.encode()), name)]


def configs(entries: list[dict[str, Any]]) -> str:
    """The text of a list of `triton.Config` for one entry of FlagGems' `tune_configs.yaml`."""
    found = []
    for entry in entries:
        if not entry.get("gen"):
            found.append((entry.get("META", {}), {k: v for k, v in entry.items() if k != "META"}))
            continue
        names = [name for name in entry if name not in ("gen", "param_map")]
        for values in itertools.product(*(entry[name] for name in names)):
            chosen = dict(zip(names, values, strict=True))
            places = entry["param_map"]
            meta = {key: chosen.get(name, name) for key, name in places["META"].items()}
            found.append((meta, {key: chosen.get(name, name) for key, name in places.items() if key != "META"}))
    rows = (", ".join([repr(meta), *(f"{k}={v!r}" for k, v in options.items())]) for meta, options in found)
    return "[" + ", ".join(f"triton.Config({row})" for row in rows) + "]"


def _is_inside(edit: Edit, other: Edit) -> bool:
    """Whether another edit replaces the piece of text of this one and more."""
    return edit[:4] != other[:4] and other[:2] <= edit[:2] and edit[2:4] <= other[2:4]


def _dropped(call: ast.Call, kept: list[str]) -> Iterator[Edit]:
    """Remove the keyword arguments of a call that are not kept; the first argument stays."""
    every = sorted([*call.args, *call.keywords], key=lambda argument: (argument.lineno, argument.col_offset))
    for before, argument in itertools.pairwise(every):
        if isinstance(argument, ast.keyword) and argument.arg not in kept:
            yield (before.end_lineno or 0, before.end_col_offset or 0, argument.end_lineno or 0,
                   argument.end_col_offset or 0, "")  # fmt: skip


def _without(node: ast.expr, parents: Mapping[int, ast.AST]) -> list[Edit]:
    """Leave out a decorator, or a statement that is nothing but a call."""
    call: ast.AST = parents[id(node)]
    if not isinstance(call, ast.Call):
        call = node
    while isinstance(parents.get(id(call)), ast.Attribute | ast.Call):
        call = parents[id(call)]
    owner = parents[id(call)]
    if isinstance(owner, ast.Expr):
        return [(owner.lineno, owner.col_offset, owner.end_lineno or 0, owner.end_col_offset or 0, "pass")]
    if call in getattr(owner, "decorator_list", []) and isinstance(call, ast.expr):
        return [(call.lineno, call.col_offset - 1, call.end_lineno or 0, call.end_col_offset or 0, "")]
    raise AssemblyError(f"line {call.lineno}: {ast.unparse(call)} cannot be left out")  # type: ignore[attr-defined]


def _edited(module: Module, node: ast.AST, edits: list[Edit]) -> str:
    """The text of a statement (with its decorators) or an expression, or of a whole module, with `edits` made."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return ""
    starts = [0]
    for line in module.lines:
        starts.append(starts[-1] + len(line.encode()))
    first, last = 0, starts[-1]
    if isinstance(node, ast.stmt | ast.expr):
        decorators = getattr(node, "decorator_list", [])
        line = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        first = starts[line - 1] + (0 if isinstance(node, ast.stmt) else node.col_offset)
        last = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
    text = module.text.encode()
    for line, column, end_line, end_column, new in sorted(set(edits), reverse=True):
        begin, end = starts[line - 1] + column, starts[end_line - 1] + end_column
        text = text[:begin] + new.encode() + text[end:]
        last += len(new.encode()) - (end - begin)
    return textwrap.dedent(text[first:last].decode())


def files_of(project: Project, folder: Path) -> Files:
    """A project's files below `folder`: OWNER+NAME/repo, a bare git directory, or the wheel."""
    wheel = project.source.endswith(".whl")
    place = folder / project.source if wheel else folder / project.source.replace("/", "+") / "repo"
    return Files(place, project.commit, project.root)


def candidate(kernel: Kernel, folder: Path) -> str:
    """The text to judge, made of the project's files below `folder`; raises AssemblyError."""
    project = kernel.project
    assembly = Assembly(files_of(project, folder), project.instead, project.decided)
    return assembly.candidate(kernel.path, kernel.adapter)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--from", dest="projects", type=Path, required=True)
    parser.add_argument("--name", default="*")
    parser.add_argument("--list", type=Path, default=HERE)
    options = parser.parse_args()
    folder = options.out / "candidates"
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for kernel in (kernel for kernel in kernels(options.list) if fnmatch.fnmatch(kernel.name, options.name)):
        file = folder / f"{kernel.name}.py"
        try:
            file.write_text(candidate(kernel, options.projects), encoding="utf-8")
        except AssemblyError as error:
            failed += 1
            file.unlink(missing_ok=True)
            print(f"{kernel.name}: not assembled: {error}", file=sys.stderr)
    return min(failed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
