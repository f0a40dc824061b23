"""Module-level dicts, lists and sets that a candidate only reads: tables. Pure syntax.

A table is bound to containers with elements only, and each use of its name in a call only reads it: an element, the
length, a membership test, an iteration. An element that is a container may get a name which is only read, too. A
container that a call passes on or binds to another name could be filled, so it is no table.
"""

from __future__ import annotations

import ast

from kernelwright.source.bindings import bound_values, evaluated

READS = frozenset({"get", "items", "keys", "values", "index", "count", "copy"})
"""Methods that read a table."""

ASKS = frozenset({"len", "sorted", "min", "max", "sum", "any", "all", "tuple", "list", "dict", "set", "enumerate",
                  "zip", "product"})  # fmt: skip
"""Functions that a table may be passed to, among them `itertools.product`."""

CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def tables(tree: ast.Module) -> set[str]:
    """The names of module-level containers that calls only read."""
    written = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    reading, found = _Reading(tree), set()
    for name, values in bound_values(tree).items():
        if not all(map(_is_container, values)) or name in written:
            continue
        nested = any(
            isinstance(part, CONTAINERS)
            for value in values
            if value is not None
            for one in _sides(value)
            for part in ast.walk(one)
            if part is not one
        )
        if reading.is_only_read(name, nested):
            found.add(name)
    return found


class _Reading:
    """What the calls of a module do with containers."""

    def __init__(self, tree: ast.Module) -> None:
        at_import = {id(part) for node in tree.body for part in evaluated(node)}
        self._parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._uses: dict[str, list[ast.expr]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in at_import:
                self._uses.setdefault(node.id, []).append(node)

    def is_only_read(self, name: str, nested: bool, asking: frozenset[str] = frozenset()) -> bool:
        """Whether everything of this name is. nested: whether its elements may be containers, too. asking: names whose
        other uses are being looked at."""
        uses = [] if name in asking else self._uses.get(name, [])
        return all(self._reads(use, nested, asking | {name}) for use in uses)

    def _reads(self, use: ast.expr, nested: bool, asking: frozenset[str]) -> bool:
        """Whether one use of a container only reads it. nested: then only elements of elements may be passed on."""
        parent = self._parents[id(use)]
        match parent:
            case ast.Subscript(ctx=ast.Load(), value=value) if value is use:
                return not nested or self._reads(parent, False, asking)
            case ast.Compare(left=left):
                return left is not use
            case ast.Attribute(attr=attribute, ctx=ast.Load()):
                called = self._parents[id(parent)]
                if attribute not in READS or not (isinstance(called, ast.Call) and called.func is parent):
                    return False
                return not nested or (attribute == "get" and self._reads(called, False, asking))
            case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]) if default is use:
                return self._reads(parent, nested, asking)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is use and not isinstance(use, ast.Name):
                return self.is_only_read(name, nested, asking)
            case ast.For(iter=over) | ast.comprehension(iter=over):
                return over is use and not nested
            case ast.Call(func=function, args=args):
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                return name in ASKS and any(argument is use for argument in args) and (not nested or name == "len")
            case ast.keyword(arg=None) | ast.Starred():
                return not nested
            case _:
                return False


def _sides(value: ast.expr) -> list[ast.expr]:
    """The possible values of an expression: both sides of a conditional expression."""
    return [*_sides(value.body), *_sides(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def _is_container(value: ast.expr | None) -> bool:
    """Whether a value is a container with elements: a literal, a comprehension, or `list`, `dict`, `set` or `sorted` of
    an argument. An empty container does not count, because it is there to be filled."""
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            return _is_container(body) and _is_container(orelse)
        case ast.Call(func=ast.Name(id="list" | "dict" | "set" | "sorted"), args=args, keywords=keywords):
            return bool(args or keywords)
        case ast.List(elts=held) | ast.Set(elts=held) | ast.Dict(values=held):
            return bool(held)
        case _:
            return isinstance(value, CONTAINERS)
