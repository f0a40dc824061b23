"""Inlining of compile-time functions (`@tl.constexpr`) into the kernels that call them. Pure syntax.

Triton would run such a function as ordinary Python, which the rules cannot check. A function with only `if` and
`return` becomes a conditional expression, of which Triton compiles the branch that is taken. Any other function becomes
a kernel. Before Triton 3.7 a kernel returns values on the device only, so it cannot return a dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.source.bindings import bound_values, defaults_of, dotted, imported_name, imported_paths, parameters_of
from kernelwright.source.edits import Edit
from kernelwright.source.kernels import jit_functions
from kernelwright.source.parse import copied
from kernelwright.worker.rules.bound_names import bound_names

DECORATORS = frozenset({"triton.language.constexpr", "triton.language.core.constexpr", "triton.constexpr_function",
                        "triton.language.constexpr_function"})  # fmt: skip

LOCAL = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)
"""Expressions that bind names. An expression that is inserted into one could refer to a wrong variable."""

MOST_NODES = 2000
"""Largest expression that is inserted, in AST nodes. A call with a larger one (calls in calls) stays a call."""


@dataclass(frozen=True)
class Formula:
    """A function as one expression of its parameters. defaults: default values by name of the parameter."""

    parameters: tuple[str, ...]
    defaults: Mapping[str, ast.expr]
    value: ast.expr

    def names(self) -> set[str]:
        """Names that the expression reads from its module or from Python's builtins."""
        read = [self.value, *self.defaults.values()]
        return {part.id for node in read for part in ast.walk(node) if isinstance(part, ast.Name)} - {*self.parameters}


def constexpr_functions(tree: ast.Module) -> list[Edit]:
    """Replace calls of functions under DECORATORS by the expressions that they return. When no call can be replaced any
    more, the remaining functions become kernels. An argument may appear twice or not at all: arguments are constants.
    """
    paths = imported_paths(tree)
    triton = imported_name("triton", paths)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1
             and dotted(node.decorator_list[0], paths) in DECORATORS]  # fmt: skip
    if not found or triton is None:
        return []
    bound = bound_values(tree)
    known = {node.name for node in found}
    formulas = {node.name: formula for node in found
                if len(bound[node.name]) == 1 and (formula := formula_of(node)) is not None
                and not formula.names() & known}  # fmt: skip
    compiled = [function.node for function in jit_functions(tree)] + found
    edits = [edit for function in compiled for edit in _put_in(function, formulas)]
    return edits or [Edit(node, node, ast.unparse(_as_kernel(node, triton))) for node in found]


def formula_of(node: ast.FunctionDef) -> Formula | None:
    """The function as one expression. None if it has statements other than `if` and `return`, an expression in LOCAL,
    `*args` or `**kwargs`."""
    arguments = node.args
    parameters = tuple(argument.arg for argument in parameters_of(arguments))
    body = [copied(one) for one in node.body]
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        del body[0]
    value = _expression(_nested(body))
    if value is None or arguments.vararg or arguments.kwarg or any(isinstance(one, LOCAL) for one in ast.walk(value)):
        return None
    return Formula(parameters, defaults_of(arguments), value)


def _expression(body: list[ast.stmt]) -> ast.expr | None:
    """The returned value of the statements, as an expression; None if they are not only `if` and `return`."""
    match body:
        case [] | [ast.Pass()] | [ast.Return(value=None)]:
            return ast.Constant(None)
        case [ast.Return(value=value)]:
            return value
        case [ast.If(test=test, body=taken, orelse=otherwise)]:
            sides = _expression(taken), _expression(otherwise)
            return ast.IfExp(test, sides[0], sides[1]) if sides[0] is not None and sides[1] is not None else None
        case _:
            return None


def _put_in(function: ast.FunctionDef, formulas: Mapping[str, Formula]) -> list[Edit]:
    """Replace the calls of formulas in a kernel. A call with such a call in its arguments is left to a later round."""
    bound = bound_names(function)
    own = bound.arguments | bound.local
    own |= {one.id for part in ast.walk(function) if isinstance(part, LOCAL) for one in ast.walk(part)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}  # fmt: skip
    calls = [
        (call, formula)
        for statement in function.body
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        and (formula := formulas.get(call.func.id)) is not None and not own & {call.func.id, *formula.names()}
    ]  # fmt: skip
    edits = []
    for call, formula in calls:
        inner = [other for other, _ in calls if other is not call and any(part is other for part in ast.walk(call))]
        value = called(call, formula) if not inner else None
        if value is not None:
            edits.append(Edit(call, call, ast.unparse(value)))
    return edits


def called(call: ast.Call, formula: Formula) -> ast.expr | None:
    """The formula with the arguments of a call; None if they do not match the parameters or the result is too large."""
    given = dict(formula.defaults)
    given |= dict(zip(formula.parameters, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    is_opaque = any(isinstance(one, ast.Starred) for one in call.args) or any(k.arg is None for k in call.keywords)
    if is_opaque or len(call.args) > len(formula.parameters) or set(given) != set(formula.parameters):
        return None
    made = _Arguments(given).visit(copied(formula.value))
    return made if sum(1 for _ in ast.walk(made)) <= MOST_NODES else None


class _Arguments(ast.NodeTransformer):
    """Replaces parameters by arguments."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def _as_kernel(node: ast.FunctionDef, triton: str) -> ast.FunctionDef:
    """The function under `@triton.jit`, with its arguments and its return value as `tl.constexpr`."""
    made = copied(node)
    made.decorator_list = [ast.parse(f"{triton}.jit", mode="eval").body]
    constexpr = ast.parse(f"{triton}.language.constexpr", mode="eval").body
    for inner in ast.walk(made):
        if isinstance(inner, ast.arg):
            inner.annotation = constexpr
        elif isinstance(inner, ast.Return) and inner.value is not None:
            inner.value = ast.Call(constexpr, [inner.value], [])
    made.body = _nested(made.body)
    return made


def _nested(body: list[ast.stmt]) -> list[ast.stmt]:
    """Move the statements after an `if` that returns into its `else`: in a kernel Triton would compile both."""
    for position, node in enumerate(body):
        if isinstance(node, ast.If) and node.body and isinstance(node.body[-1], ast.Return):
            node.body, node.orelse = _nested(node.body), _nested([*node.orelse, *body[position + 1 :]])
            return body[: position + 1]
    return body
