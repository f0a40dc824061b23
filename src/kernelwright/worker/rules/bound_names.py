"""Names that a kernel's body binds, and names that it looks up outside. Pure syntax, exact as Python's own scoping.

Triton's compiler looks a name up otherwise than Python: in what has been assigned so far, then in the module, then in
its own builtins; and it keeps a comprehension's variable after the comprehension. `clashes` names what would mean
one thing to the compiler and another to the interpreter, which runs the body as Python.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Set
from dataclasses import dataclass

from kernelwright.source.bindings import Binding, bindings, targets_of

COMPILER_BUILTINS = frozenset({"getattr", "hasattr", "print", "list"})
"""What Triton's compiler takes a name for that was not assigned yet, less what kernels may use anyway."""

EXECUTING = frozenset({"setattr", "delattr", "eval", "exec", "compile", "open", "globals", "locals", "vars", "dir",
                       "breakpoint"})  # fmt: skip
"""Builtins that would run or change anything; no kernel needs a variable of such a name."""

INTERPRETER_NAMES = frozenset({"interpreter_semantic"})
"""What the interpreter writes into a body as it rewrites the assignments, in all supported versions."""


@dataclass(frozen=True)
class BoundNames:
    """Names that a function binds.

    arguments: bound in any case. local: assigned somewhere in the body, or an argument that Triton's compiler does not
    bind (keyword-only, positional-only, variable): at any place they may still be unbound. comprehended: variables of
    comprehensions, bound inside only.
    """

    arguments: frozenset[str]
    local: frozenset[str]
    comprehended: tuple[Binding, ...]


def bound_names(function: ast.FunctionDef) -> BoundNames:
    """What `function` binds."""
    plain = {argument.arg for argument in function.args.args}
    every = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    local = {binding.name for statement in function.body for binding in bindings(statement)}
    return BoundNames(
        frozenset(plain),
        frozenset(local | (every - plain)),
        tuple(b for statement in function.body for b in _comprehended(statement)),
    )


def looked_up(function: ast.FunctionDef, bound: BoundNames | None = None) -> list[ast.Name]:
    """Every name that the body reads and that Python would look for in the module and then in the builtins. bound:
    what `function` binds, where that is known."""
    bound = bound or bound_names(function)
    inside = bound.arguments | bound.local
    return [name for statement in function.body for name in _free(statement, inside)]


def _free(node: ast.AST, bound: Set[str]) -> Iterator[ast.Name]:
    match node:
        case ast.Name():
            if node.id not in bound and isinstance(node.ctx, ast.Load):
                yield node
        case ast.ListComp(elt=element, generators=generators):
            inside = bound
            for generator in generators:
                yield from _free(generator.iter, inside)
                inside = inside | targets_of(generator)
                for condition in generator.ifs:
                    yield from _free(condition, inside)
            yield from _free(element, inside)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _free(child, bound)


def clashes(function: ast.FunctionDef, bound: BoundNames, module: Set[str]) -> Iterator[Binding]:
    """Bindings of `function` that could be taken for something else. module: names of the extracted module.

    A local that may be unbound must not be a name that the compiler finds elsewhere. A comprehension's variable must
    be no other name at all, because the compiler keeps it.
    """
    elsewhere = COMPILER_BUILTINS | EXECUTING | module
    for binding in _every(function):
        unsure = binding.name in bound.local and binding.name in elsewhere
        if unsure or binding.name in INTERPRETER_NAMES:
            yield binding
    known = (
        elsewhere | INTERPRETER_NAMES | bound.arguments | bound.local | {name.id for name in looked_up(function, bound)}
    )
    yield from (b for b in bound.comprehended if b.name in known or hasattr(builtins, b.name))
    inside = (node for statement in function.body for node in ast.walk(statement))
    for outer in (node for node in inside if isinstance(node, ast.ListComp)):
        own = set().union(*(targets_of(generator) for generator in outer.generators))
        within = [outer.elt, *(part for generator in outer.generators for part in (generator.iter, *generator.ifs))]
        yield from (b for part in within for b in _comprehended(part) if b.name in own)


def _every(function: ast.FunctionDef) -> Iterator[Binding]:
    """What the signature and the body bind, comprehensions aside."""
    yield from (Binding(a.arg, id(a), a.lineno) for a in ast.walk(function.args) if isinstance(a, ast.arg))
    for statement in function.body:
        yield from bindings(statement)


def _comprehended(node: ast.AST) -> Iterator[Binding]:
    """The variables of all comprehensions in `node`."""
    for found in ast.walk(node):
        if isinstance(found, ast.comprehension):
            yield from (Binding(name, id(found), found.target.lineno) for name in targets_of(found))
