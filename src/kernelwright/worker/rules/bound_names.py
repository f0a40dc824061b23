"""Scoping of a kernel's body: names that it binds, and names that it looks up in the module. Pure syntax.

The result equals Python's own scoping. Triton's compiler looks names up differently: among the variables assigned so
far, then in the module, then in its own builtins. It also keeps a comprehension's variable after the comprehension.
`clashes` finds names that the compiler resolves differently from the interpreter, which runs the body as Python.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass

from kernelwright.source.bindings import Binding, bindings, names_in, targets_of

COMPILER_BUILTINS = frozenset({"getattr", "hasattr", "print", "list"})
"""Builtins of Triton's compiler for names that are not assigned yet, without those that kernels may use anyway."""

EXECUTING = frozenset({"setattr", "delattr", "eval", "exec", "compile", "open", "globals", "locals", "vars", "dir",
                       "breakpoint"})  # fmt: skip
"""Builtins that run code, change or inspect objects. No kernel needs a variable with one of these names."""

INTERPRETER_NAMES = frozenset({"interpreter_semantic"})
"""Names that Triton's interpreter inserts when it rewrites assignments in a body, in all supported versions."""


@dataclass(frozen=True)
class BoundNames:
    """Names that a function binds.

    arguments: always bound. local: assigned somewhere in the body, or an argument that Triton's compiler does not bind
    (keyword-only, positional-only, variable); a local may still be unbound where it is read. comprehended: variables of
    comprehensions, bound only inside them.
    """

    arguments: frozenset[str]
    local: frozenset[str]
    comprehended: tuple[Binding, ...]


def bound_names(function: ast.FunctionDef) -> BoundNames:
    """The names that `function` binds."""
    plain = {argument.arg for argument in function.args.args}
    every = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    local = {binding.name for statement in function.body for binding in bindings(statement)}
    return BoundNames(
        frozenset(plain),
        frozenset(local | (every - plain)),
        tuple(b for statement in function.body for b in _comprehended(statement)),
    )


def looked_up(function: ast.FunctionDef, bound: BoundNames | None = None) -> list[ast.Name]:
    """Every name that the body reads and that Python looks up in the module, then in the builtins. bound: the names
    that `function` binds, if the caller has them."""
    bound = bound or bound_names(function)
    inside = bound.arguments | bound.local
    return [name for statement in function.body for name in _free(statement, inside)]


def names_of_module(functions: Collection[ast.FunctionDef]) -> set[str]:
    """The names that the bodies of kernels look up in the module, and all in their signatures."""
    return {name.id for one in functions for name in looked_up(one)}.union(*(names_in(one.args) for one in functions))


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
    """Bindings of `function` that the compiler could resolve to something else. module: names of the extracted module.

    A local that may be unbound must not have a name that the compiler finds elsewhere. The variable of a comprehension
    must have a name that nothing else uses, because the compiler keeps the variable.
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
    """Bindings of the signature and the body, without the variables of comprehensions."""
    yield from (Binding(a.arg, id(a), a.lineno) for a in ast.walk(function.args) if isinstance(a, ast.arg))
    for statement in function.body:
        yield from bindings(statement)


def _comprehended(node: ast.AST) -> Iterator[Binding]:
    """The variables of all comprehensions in `node`."""
    for found in ast.walk(node):
        if isinstance(found, ast.comprehension):
            yield from (Binding(name, id(found), found.target.lineno) for name in targets_of(found))
