"""Functions that a module binds again: definitions that a later one replaces, and decorators that functions of the
module return. Steps of the normal form. Pure syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from kernelwright.source.bindings import (
    bound_values,
    callee,
    defaults_of,
    dotted,
    imported_paths,
    names_in,
    parameters_of,
    stored_names,
)
from kernelwright.source.edits import Edit
from kernelwright.source.kernels import DECORATORS
from kernelwright.worker.rules.constexprs import Formula, called

SIMPLE = ast.FunctionDef | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.Expr
"""Statements of which is known what an import evaluates."""


def replaced(tree: ast.Module) -> list[Edit]:
    """Remove functions under decorators of Triton, or under none, that a later one of the same name replaces before an
    import could use them."""
    paths, found = imported_paths(tree), list[Edit]()
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and all(
            dotted(callee(one), paths) in DECORATORS for one in node.decorator_list
        ):
            for later in tree.body[place + 1 :]:
                if not isinstance(later, SIMPLE) or own & _at_import(later):
                    break
                if isinstance(later, ast.FunctionDef) and later.name == node.name:
                    found.append(Edit(node, node, "pass"))
                    break
    return found


def _at_import(node: ast.stmt) -> set[str]:
    """The names that an import may evaluate of a simple statement."""
    parts = [*node.decorator_list, node.args, node.returns] if isinstance(node, ast.FunctionDef) else [node]
    return {name for part in parts if part is not None for name in names_in(part)}


def decorators(tree: ast.Module) -> list[Edit]:
    """Replace the calls of functions of the module in a decorator, above a function or as in `kernel = made()(kernel)`,
    by what they return, if that is one expression. Sides that refuse do not count."""
    bound = bound_values(tree)
    formulas = {node.name: found for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list
                and len(bound[node.name]) == 1 and (found := _formula(node)) is not None}  # fmt: skip
    edits = list[Edit]()
    for node in tree.body:
        match node:
            case ast.FunctionDef(decorator_list=[*above]):
                calls = [call for one in above for call in _innermost(one, formulas)]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=made, args=[ast.Name(id=same)])) if (
                name == same
            ):
                calls = [*_innermost(made, formulas)]
            case _:
                calls = []
        for call in calls:
            formula = formulas[ast.unparse(call.func)]
            clash = stored_names(formula.value) & (names_in(call) | {*formula.parameters})
            value = None if clash else called(call, formula)
            edits += [Edit(call, call, ast.unparse(value))] if value is not None else []
    return edits


def _innermost(node: ast.expr, formulas: Mapping[str, Formula]) -> Iterator[ast.Call]:
    """The calls of formulas without such a call in their arguments."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
             and one.func.id in formulas]  # fmt: skip
    yield from (one for one in calls if not any(part in calls for part in ast.walk(one) if part is not one))


def _formula(node: ast.FunctionDef) -> Formula | None:
    value = _returned(node.body)
    if value is None or node.args.vararg or node.args.kwarg:
        return None
    return Formula(tuple(one.arg for one in parameters_of(node.args)), defaults_of(node.args), value)


def _returned(body: list[ast.stmt]) -> ast.expr | None:
    match body:
        case [ast.Expr(value=ast.Constant()), *rest]:
            return _returned(rest)
        case [ast.Return(value=value)]:
            return value
        case [ast.If(body=[ast.Raise()], orelse=orelse), *rest]:
            return _returned([*orelse, *rest])
        case [ast.If(body=[*taken], orelse=[ast.Raise()])]:
            return _returned(taken)
        case _:
            return None
