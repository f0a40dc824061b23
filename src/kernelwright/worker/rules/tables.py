"""Module-level dicts, lists and sets that a candidate only reads: tables. Pure syntax.

A table is bound to containers with elements only, and each use of its name only reads it: an element, the length, a
membership test, an iteration. A container that is passed on or bound to another name could be filled later, so it is no
table.
"""

from __future__ import annotations

import ast

from kernelwright.source.bindings import bound_values

READS = frozenset({"get", "items", "keys", "values", "index", "count", "copy"})
"""Methods that read a table."""

ASKS = frozenset({"len", "sorted", "min", "max", "sum", "any", "all", "tuple", "list", "dict", "set", "enumerate",
                  "zip", "product", "autotune"})  # fmt: skip
"""Functions that a table may be passed to, among them `itertools.product`. `triton.autotune` reads its configs."""

CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def tables(tree: ast.Module) -> set[str]:
    """The names of module-level containers that are only read."""
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    written = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    found = set()
    for name, values in bound_values(tree).items():
        if not all(map(_is_container, values)) or name in written:
            continue
        uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name
                and isinstance(node.ctx, ast.Load)]  # fmt: skip
        nested = any(
            isinstance(part, CONTAINERS)
            for value in values
            if value is not None
            for one in _sides(value)
            for part in ast.walk(one)
            if part is not one
        )
        if all(_is_read(use, parents, nested) for use in uses):
            found.add(name)
    return found


def _is_read(use: ast.expr, parents: dict[int, ast.AST], nested: bool) -> bool:
    """Whether one use of a table only reads it. nested: whether its elements may be containers, too; then only elements
    of elements may be passed on."""
    parent = parents[id(use)]
    match parent:
        case ast.Subscript(ctx=ast.Load(), value=value) if value is use:
            return not nested or _is_read(parent, parents, nested=False)
        case ast.Compare(left=left):
            return left is not use
        case ast.Attribute(attr=attribute, ctx=ast.Load()):
            called = parents[id(parent)]
            return attribute in READS and isinstance(called, ast.Call) and called.func is parent and not nested
        case ast.For(iter=over) | ast.comprehension(iter=over):
            return over is use and not nested
        case ast.Call(func=function, args=args):
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
            return name in ASKS and any(argument is use for argument in args) and (not nested or name == "len")
        case ast.keyword(arg=None) | ast.Starred():
            return not nested
        case ast.keyword(arg="configs") as keyword:
            call = parents[id(keyword)]
            return isinstance(call, ast.Call) and ast.unparse(call.func).endswith("autotune") and not nested
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
