"""Name bindings on the AST: the names that a piece of Python binds, and the full names behind imports. Pure syntax.

Both the tuner (`scopes`, `kernels`) and the worker's rules for candidates use this file. The rules may be stricter, but
must not resolve names in another way.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Binding:
    """A name bound in one scope.

    what: equal for two bindings to the same object. value: the expression that the name is bound to, None where there
    is no single one. declared: `name: type` without a value, which makes the name local and assigns nothing.
    """

    name: str
    what: object
    line: int
    value: ast.expr | None = None
    declared: bool = False


@dataclass(frozen=True)
class Imported:
    """A name that an import binds. path: the full name of the imported object."""

    name: str
    path: str
    alias: ast.alias


def imported(node: ast.AST) -> Iterator[Imported]:
    """The names that `node` binds if it is an import. The path of a relative import begins with dots."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield Imported(alias.asname or top, alias.name if alias.asname else top, alias)
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            yield Imported(alias.asname or alias.name, f"{module}.{alias.name}", alias)


def imported_paths(tree: ast.Module) -> dict[str, str]:
    """Full names by the names that a module's import statements bind; imports inside other statements are ignored. A
    name of the framework that a function, an argument or a variable has too, at any depth, is left out."""
    found = {found.name: found.path for node in tree.body for found in imported(node)}
    own = stored_names(tree) | {one.name for one in ast.walk(tree) if isinstance(one, (*FUNCTIONS, ast.ClassDef))}
    return {name: path for name, path in found.items()
            if name not in own or path.partition(".")[0] not in ("torch", "triton")}  # fmt: skip


def dotted(node: ast.expr, paths: Mapping[str, str]) -> str | None:
    """The full name of an attribute chain: `tl.constexpr` is `triton.language.constexpr`. None where it does not begin
    with an imported name. paths: full names by imported names."""
    if isinstance(node, ast.Attribute):
        base = dotted(node.value, paths)
        return f"{base}.{node.attr}" if base else None
    return paths.get(node.id) if isinstance(node, ast.Name) else None


def callee(node: ast.expr) -> ast.expr:
    """What a call calls; other expressions as they are."""
    return node.func if isinstance(node, ast.Call) else node


def imported_name(path: str, paths: Mapping[str, str]) -> str | None:
    """The name that imports bind to `path`, the first if there are several; None where there is none."""
    return next((name for name, found in paths.items() if found == path), None)


def bindings(node: ast.AST) -> Iterator[Binding]:
    """Every name that `node` binds in its own scope: not in functions, classes, lambdas or comprehensions inside."""
    line = getattr(node, "lineno", 0)
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield Binding(node.name, id(node), line)
            children = [*node.decorator_list, *defaults_of(node.args).values()]
        case ast.ClassDef():
            yield Binding(node.name, id(node), line)
            children = [*node.decorator_list, *node.bases, *node.keywords]
        case ast.Lambda():
            children = [*defaults_of(node.args).values()]
        case ast.comprehension():
            children = [node.iter, *node.ifs]
        case ast.Import() | ast.ImportFrom():
            yield from (Binding(found.name, found.path, line) for found in imported(node))
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assigned(target, value)
            children = [value]
        case ast.AnnAssign(target=ast.Name() as name, annotation=annotation, value=annotated):
            yield Binding(name.id, id(name), name.lineno, annotated, declared=annotated is None)
            children = [annotation, *([annotated] if annotated else [])]
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield Binding(node.id, id(node), line)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield Binding(name, id(node), line)
        case ast.ExceptHandler(name=str(name)):
            yield Binding(name, id(node), line)
        case _:
            pass
    for child in children:
        yield from bindings(child)


def bound_names(body: Iterable[ast.stmt]) -> set[str]:
    """The names that a module's statements bind; "*" for a star import."""
    return {binding.name for statement in body for binding in bindings(statement)}


def bound_values(tree: ast.Module) -> dict[str, list[ast.expr | None]]:
    """The values of a module's names, one for each binding."""
    found: dict[str, list[ast.expr | None]] = {}
    for binding in bindings(tree):
        found.setdefault(binding.name, []).append(binding.value)
    return found


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[Binding]:
    """Bindings of one target of an assignment; a tuple is unpacked where its value is written as a tuple."""
    match target, value:
        case ast.Name(), _:
            yield Binding(target.id, id(target), target.lineno, value)
        case ((ast.Tuple() | ast.List()), (ast.Tuple() | ast.List())) if _match_up(target.elts, value.elts):
            for inner_target, inner_value in zip(target.elts, value.elts, strict=True):
                yield from _assigned(inner_target, inner_value)
        case _:
            yield from bindings(target)


def _match_up(targets: list[ast.expr], values: list[ast.expr]) -> bool:
    return len(targets) == len(values) and not any(isinstance(one, ast.Starred) for one in (*targets, *values))


def assigned_targets(node: ast.AST) -> list[ast.expr]:
    """The targets of an assignment; none for other nodes."""
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


def targets_of(generator: ast.comprehension) -> set[str]:
    """The variables of one `for` of a comprehension."""
    return names_in(generator.target)


def parameters_of(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters except `*args` and `**kwargs`."""
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The default values of parameters, by name."""
    plain = [*arguments.posonlyargs, *arguments.args]
    given = zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True)
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {one.arg: default for one, default in (*given, *named) if default is not None}


def names_in(node: ast.AST) -> set[str]:
    """Every name that occurs in `node`."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def stored_names(node: ast.AST) -> set[str]:
    """Every variable and argument that something in `node` binds, at any depth."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    return names | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}


def evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its descendants, without the functions and classes inside. Of a function, only what is evaluated where
    it is defined: its decorators and defaults."""
    yield node
    within = [*node.decorator_list, node.args] if isinstance(node, FUNCTIONS) else ast.iter_child_nodes(node)
    for child in within:
        if not isinstance(child, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            yield from evaluated(child)


def free_names(node: ast.stmt, scopes: Collection[str] = ("module",)) -> set[str]:
    """The names of the module that a statement reads: without local variables and arguments of its functions.

    scopes: kinds of scopes, as symtable calls them, of which all names count that are read; with "class" those that a
    class body binds, too.
    """
    found, tables = set[str](), [symtable.symtable(ast.unparse(node), "<statement>", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {one.get_name() for one in table.get_symbols()
                  if one.is_referenced() and (table.get_type() in scopes or one.is_global())}  # fmt: skip
    return found


def base_name(node: ast.AST) -> str | None:
    """The name at the start of a chain of attributes, subscripts and calls. Where the chain itself has to be something
    of an imported module, not a value that comes from there, use `dotted`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None
