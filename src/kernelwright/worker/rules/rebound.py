"""Decorators that functions of the module return: a step of the normal form. Pure syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from kernelwright.source.bindings import bound_values, defaults_of, names_in, parameters_of, stored_names
from kernelwright.source.edits import Edit
from kernelwright.worker.rules.constexprs import Formula, called


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
