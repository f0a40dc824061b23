"""Memory and answers of the device that a first call keeps in attributes or global names: a step of the normal form,
which allocates, or asks, in every call. Pure syntax.

A call then depends on nothing that an earlier one left, so memory that a kernel expects to hold values is refused by
the judge.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass

from kernelwright.source.bindings import assigned_targets, dotted, evaluated, imported_paths, names_in, stored_names
from kernelwright.source.edits import Edit
from kernelwright.worker.rules.moved import ALLOCATES

ALL = ALLOCATES | {f"{name}_like" for name in ALLOCATES}
"""Functions that allocate memory, also where a tensor says how much and on which device."""

VALUED = ALL - {"torch.empty", "torch.empty_like"}

ASKS = ("torch.cuda.get_device_", "triton.runtime.driver.active.")
"""Prefixes of functions that ask the device, and nothing else."""

COUNTS = frozenset({"int", "min", "max", "len", "tuple", "cdiv", "next_power_of_2", "numel", "size", "stride", "dim"})
"""Functions and methods that only compute sizes."""

PARTS = (ast.Constant, ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)


@dataclass(frozen=True)
class _Guard:
    """`if self.kept is None: self.kept = …` in a function. stored: whether it is memory, for `self.kept` and others."""

    node: ast.If
    function: ast.FunctionDef
    stored: dict[str, bool]


def in_every_call(tree: ast.Module) -> list[Edit]:
    """Replace the conditions of such statements by True, and what they store by local variables."""
    guards, edits = _guards(tree), list[Edit]()
    names = {name for guard in guards for name in guard.stored}
    tests = {id(part) for guard in guards for part in ast.walk(guard.node.test)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global) and names.issuperset(node.names):
            edits.append(Edit(node, node, "pass"))
    for guard in guards:
        edits.append(Edit(guard.node.test, guard.node.test, "True"))
        edits += [Edit(one, one, one.attr) for one in ast.walk(guard.function) if isinstance(one, ast.Attribute)
                  and ast.unparse(one) in names and id(one) not in tests]  # fmt: skip
    return edits


def answers(tree: ast.Module) -> set[str]:
    """What keeps nothing that a later call could miss: an answer of the device, or memory that is only scratch."""
    guards, paths = _guards(tree), imported_paths(tree)
    missed = {name for guard in guards for name, is_memory in guard.stored.items()
              if is_memory and not _is_scratch(name, guard, paths)}  # fmt: skip
    return {name for guard in guards for name in guard.stored} - missed


def _is_scratch(name: str, guard: _Guard, paths: Mapping[str, str]) -> bool:
    """Whether memory has no values at first, is made again for another size, and only launches and copies get it."""
    every, within = [*ast.walk(guard.function)], [*ast.walk(guard.node)]
    owners = {id(one.value): one.attr for one in every if isinstance(one, ast.Attribute)}
    asks = any(owners.get(id(one)) in ("shape", "numel", "size") and ast.unparse(one).partition("[")[0] in guard.stored
               for one in ast.walk(guard.node.test))  # fmt: skip
    has_values = any(isinstance(one, ast.expr) and dotted(one, paths) in VALUED for one in within)
    given = {id(one) for node in every if isinstance(node, ast.Call)
             and (isinstance(node.func, ast.Subscript) or getattr(node.func, "attr", "") == "copy_")
             for one in (*node.args, *(word.value for word in node.keywords))}  # fmt: skip
    uses = [one for one in every if isinstance(one, ast.expr) and one not in within and ast.unparse(one) == name]
    return asks and not has_values and all(id(one) in given or owners.get(id(one)) == "stride" for one in uses)


def _guards(tree: ast.Module) -> list[_Guard]:
    """Those that store what nothing else stores, and what only functions with one read."""
    paths = imported_paths(tree)
    stated = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
    found = [_Guard(node, function, stored)
             for function in functions for part in function.body for node in evaluated(part)
             if isinstance(node, ast.If) and (stored := _stored(node, paths, stated))]  # fmt: skip
    shared = {name for guard in found for name in guard.stored
              if not _is_only_kept(name, tree, [one for one in found if name in one.stored])}  # fmt: skip
    return [guard for guard in found if shared.isdisjoint(guard.stored)]


def _is_only_kept(name: str, tree: ast.Module, guards: list[_Guard]) -> bool:
    """Whether a name is None at first, and used in the functions of its guards alone."""
    last = name.rpartition(".")[2]
    uses = [node for node in ast.walk(tree) if getattr(node, "attr" if last != name else "id", None) == last]
    inside = {id(part) for guard in guards for part in ast.walk(guard.function)}
    within = {id(part) for guard in guards for part in ast.walk(guard.node)}
    none = {id(target) for node in ast.walk(tree) if getattr(getattr(node, "value", 0), "value", 0) is None
            for target in assigned_targets(node)}  # fmt: skip
    outside = [node for node in uses if id(node) not in inside]
    taken = {one for guard in guards for one in names_in(guard.function) | stored_names(guard.function)}
    texts = {text for node in ast.walk(tree) for text in _texts(node)}
    return (
        [id(node) in none for node in outside] == [True]
        and all(ast.unparse(node) == name for node in uses if isinstance(node, ast.expr))
        and all(id(node) in within for node in uses if id(node) in inside and not isinstance(_context(node), ast.Load))
        and (last == name or last not in taken | texts)
    )


def _context(node: ast.AST) -> ast.expr_context | None:
    return getattr(node, "ctx", None)


def _texts(node: ast.AST) -> list[str]:
    """The text of a literal, and the attributes in an f-string."""
    if isinstance(node, ast.JoinedStr):
        return [one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _stored(guard: ast.If, paths: Mapping[str, str], stated: Set[str]) -> dict[str, bool]:
    """What a statement stores where one of them is None, which its test asks first; empty if it does anything else.
    stated: names that are global somewhere."""
    found, local = dict[str, bool](), set[str]()
    for node in guard.body:
        match node:
            case ast.Assign(targets=[ast.Attribute() | ast.Name() as target], value=value):
                name, is_memory = ast.unparse(target), _is_memory(value, paths, local)
                if name.startswith("self.") or name in stated:
                    if not is_memory and not _is_answer(value, paths):
                        return {}
                    found[name] = is_memory
                elif is_memory:
                    local.add(name)
                elif isinstance(target, ast.Attribute) or not all(map(_only_counts, ast.walk(value))):
                    return {}
            case ast.Assign(targets=[ast.Tuple()], value=value) if all(map(_only_counts, ast.walk(value))):
                pass
            case _:
                return {}
    test = guard.test.values[0] if isinstance(guard.test, ast.BoolOp) else guard.test
    is_or = not isinstance(guard.test, ast.BoolOp) or isinstance(guard.test.op, ast.Or)
    asked = any(ast.unparse(test) == f"{name} is None" for name in found)
    only_asks = all(found.values()) or (test is guard.test and len(found) == len(guard.body))
    return found if asked and is_or and only_asks and not guard.orelse else {}


def _is_memory(value: ast.expr, paths: Mapping[str, str], local: Set[str]) -> bool:
    match value:
        case ast.Call(func=function):
            return dotted(function, paths) in ALL
        case ast.Tuple(elts=parts):
            return all(_is_memory(one, paths, local) for one in parts)
        case ast.Name(id=name):
            return name in local
        case _:
            return False


def _is_answer(node: ast.expr, paths: Mapping[str, str]) -> bool:
    if isinstance(node, ast.Call):
        given = [*node.args, *(word.value for word in node.keywords)]
        return (dotted(node.func, paths) or "").startswith(ASKS) and all(_is_device(one, paths) for one in given)
    parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    return isinstance(node, PARTS) and all(_is_answer(one, paths) for one in parts)


def _is_device(node: ast.expr, paths: Mapping[str, str]) -> bool:
    """Whether an argument only names a device: an answer that is kept is asked for in the first call alone."""
    match node:
        case ast.Call(func=function, args=[], keywords=[]):
            return dotted(function, paths) == "torch.cuda.current_device"
        case ast.Attribute(value=owner, attr="device" | "index"):
            return _is_device(owner, paths)
        case _:
            return isinstance(node, ast.Constant | ast.Name)


def _only_counts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return (getattr(node.func, "attr", None) or getattr(node.func, "id", None)) in COUNTS
    return not isinstance(node, ast.Lambda | ast.NamedExpr)
