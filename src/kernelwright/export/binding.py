"""The call of a candidate's `kernel_function` or `kernel_backward`, from the signature in its text.

The candidate is parsed, not imported. The recorder binds values in the same way (`source.signatures`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Literal

from kernelwright.entries.called import function_named
from kernelwright.errors import RequestError
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bound_names, defaults_of
from kernelwright.source.signatures import CallArgument, bind


def form_of(source: str) -> Literal["ModelNew", "kernel_function"]:
    """Which of the two forms a candidate has; `ModelNew` if it has both, as in the recorder."""
    names = {node.name for node in syntax.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    if "ModelNew" in names:
        return "ModelNew"
    if "kernel_function" in names:
        return "kernel_function"
    raise RequestError("the candidate defines neither ModelNew nor kernel_function at module level")


def bound_arguments(
    source: str,
    inputs: Sequence[str],
    parameters: Sequence[str],
    init: Sequence[str],
    function: str = "kernel_function",
) -> tuple[CallArgument, ...]:
    """The arguments of a call of a function of `source`, without those that keep their default. inputs: names of the
    values passed in order; parameters, init: names of the problem's parameters and constructor arguments. Raises
    `RequestError`."""
    signature = signature_of(source, function)
    try:
        every = bind(signature, inputs, parameters, init)
    except ValueError as error:
        raise RequestError(f"{function}: {error}") from error
    names = {place: one.name for place, one in enumerate(signature.parameters.values())
             if one.kind is one.POSITIONAL_OR_KEYWORD}  # fmt: skip
    found: list[CallArgument] = []
    skipped = False
    for place, one in enumerate(every):
        if one.origin == "default":
            skipped = True  # later arguments have to be passed by name
        elif not skipped or one.keyword is not None:
            found.append(one)
        elif place in names:
            found.append(replace(one, keyword=names[place]))
        else:
            raise RequestError(f"{function} takes values of the problem by position only, behind one that is none")
    return tuple(found)


def call_text(bound: Sequence[CallArgument], value: Callable[[CallArgument], str]) -> str:
    """The arguments of a call, as text. value: the text of each one's value."""
    return ", ".join((f"{one.keyword}=" if one.keyword else "") + value(one) for one in bound)


def signature_of(source: str, function: str) -> Signature:
    """The signature of a function. Its defaults are AST nodes, except None."""
    tree = syntax.parse(source)
    if (found := function_named(tree, function)) is None:
        raise RequestError(
            f"the candidate has no function {function}",
            "an autograd function is judged and timed; a package needs kernel_function and kernel_backward"
            if function in bound_names(tree.body)
            else "",
        )
    arguments = found.args
    groups = {
        Parameter.POSITIONAL_ONLY: arguments.posonlyargs,
        Parameter.POSITIONAL_OR_KEYWORD: arguments.args,
        Parameter.VAR_POSITIONAL: [arguments.vararg] if arguments.vararg else [],
        Parameter.KEYWORD_ONLY: arguments.kwonlyargs,
        Parameter.VAR_KEYWORD: [arguments.kwarg] if arguments.kwarg else [],
    }
    defaults = {name: default_of(node) for name, node in defaults_of(arguments).items()}
    return Signature([Parameter(one.arg, kind, default=defaults.get(one.arg, Parameter.empty))
                      for kind, group in groups.items() for one in group])  # fmt: skip


def default_of(node: ast.expr) -> ast.expr | None:
    return None if isinstance(node, ast.Constant) and node.value is None else node
