"""Memory that a method allocates in its first call and keeps in attributes: a step of the normal form, which allocates
it in every call. Pure syntax.

A call then depends on nothing that an earlier one left, so memory that a kernel expects to hold values is refused by
the judge.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from kernelwright.source.bindings import dotted, imported_paths, names_in
from kernelwright.source.edits import Edit
from kernelwright.worker.rules.imports import Finding

ALLOCATES = frozenset({f"torch.{name}{like}" for name in ("empty", "zeros", "ones", "full") for like in ("", "_like")})

COUNTS = frozenset({"int", "min", "max", "len", "tuple", "cdiv", "next_power_of_2", "numel", "size", "stride", "dim"})
"""Functions and methods that only compute sizes."""


def allocated_once(tree: ast.Module) -> list[Edit]:
    """Replace `if self.kept is None: self.kept = torch.empty(4)` by an assignment to a local variable, and `self.kept`
    by that."""
    return [edit for _, edits in _found(tree) for edit in edits]


def kept(tree: ast.Module) -> list[Finding]:
    """The places where memory is kept that `allocated_once` allocates in every call."""
    return [Finding(guard.lineno, "keeps memory for the next call: the judged text allocates it in every call")
            for guard, _ in _found(tree)]  # fmt: skip


def _found(tree: ast.Module) -> Iterator[tuple[ast.If, list[Edit]]]:
    paths, nodes = imported_paths(tree), [*ast.walk(tree)]
    texts = {part for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr)
             for part in ([str(node.value)] if isinstance(node, ast.Constant) else _attributes(node))}  # fmt: skip
    for owner in (node for node in nodes if isinstance(node, ast.ClassDef)):
        none = [name for node in ast.walk(owner) for name in _set_to_none(node)]
        for method in (node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name != "__init__"):
            for guard in (node for node in ast.walk(method) if isinstance(node, ast.If)):
                names = _allocated(guard, paths)
                inside = [node for node in ast.walk(method) if isinstance(node, ast.Attribute) and node.attr in names]
                every = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in names]
                stored = [node for node in inside if not isinstance(node.ctx, ast.Load)]
                within = {id(node) for node in ast.walk(guard)}
                taken = names_in(method) | {node.arg for node in ast.walk(method.args) if isinstance(node, ast.arg)}
                if (
                    names and all(none.count(name) == 1 for name in names) and not names & (texts | taken)
                    and len(every) == len(inside) + len(names) and all(map(_is_own, inside))
                    and all(id(node) in within for node in stored)
                ):  # fmt: skip
                    yield guard, [Edit(guard.test, guard.test, "True"), *(
                        Edit(node, node, node.attr) for node in inside
                        if not any(node is part for part in ast.walk(guard.test))
                    )]  # fmt: skip


def _attributes(node: ast.AST) -> list[str]:
    return [one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)]


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _set_to_none(node: ast.AST) -> list[str]:
    """The attribute that an assignment sets to None."""
    match node:
        case (
            ast.Assign(targets=[ast.Attribute(attr=name) as target], value=ast.Constant(value=None))
            | ast.AnnAssign(target=ast.Attribute(attr=name) as target, value=ast.Constant(value=None))
        ) if _is_own(target):
            return [name]
        case _:
            return []


def _allocated(guard: ast.If, paths: Mapping[str, str]) -> set[str]:
    """The attributes in which a statement stores memory if one of them is None, which its test asks first. Empty if it
    does anything else."""
    first = (
        guard.test.values[0] if isinstance(guard.test, ast.BoolOp) and isinstance(guard.test.op, ast.Or) else guard.test
    )
    found, local = set[str](), set[str]()
    for node in guard.body:
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name) as target], value=value) if _is_own(target):
                if not _is_memory(value, paths, local):
                    return set()
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_memory(value, paths, local):
                local.add(name)
            case ast.Assign(value=value) if all(map(_only_counts, ast.walk(value))):
                pass
            case _:
                return set()
    match first:
        case ast.Compare(
            left=ast.Attribute(attr=name) as asked, ops=[ast.Is()], comparators=[ast.Constant(value=None)]
        ):
            return found if name in found and _is_own(asked) and not guard.orelse else set()
        case _:
            return set()


def _is_memory(value: ast.expr, paths: Mapping[str, str], local: set[str]) -> bool:
    match value:
        case ast.Call(func=function):
            return dotted(function, paths) in ALLOCATES
        case ast.Tuple(elts=parts):
            return all(_is_memory(one, paths, local) for one in parts)
        case ast.Name(id=name):
            return name in local
        case _:
            return False


def _only_counts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return (getattr(node.func, "attr", None) or getattr(node.func, "id", None)) in COUNTS
    return not isinstance(node, ast.Lambda | ast.NamedExpr)
