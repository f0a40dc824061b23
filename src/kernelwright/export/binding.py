"""Binds the arguments of a candidate's `kernel_function` and `kernel_backward` to the problem's values, by signature.

The candidate is parsed, not imported. The recorder binds values in the same way
(`worker.record.calling.bind_arguments`), and a test compares the two. An argument with a name that the problem does not
have is refused unless it has a default.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernelwright.errors import RequestError
from kernelwright.source import parse as syntax


@dataclass(frozen=True)
class CallArgument:
    """One argument of a call: the value's group and its index in it. keyword: its name if it is passed by name."""

    origin: Literal["input", "parameter", "init"]
    index: int
    keyword: str | None = None


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
    """The arguments of a call of a function of `source`. inputs: names of the values passed in order; parameters, init:
    names of the problem's parameters and constructor arguments. Raises `RequestError`."""
    named: dict[str, CallArgument] = {name: CallArgument("init", place) for place, name in enumerate(init)}
    leaves = [name.rpartition(".")[2] for name in parameters]
    for place, leaf in enumerate(leaves):
        if leaves.count(leaf) == 1:
            named[leaf] = CallArgument("parameter", place)
    named |= {name.replace(".", "_"): CallArgument("parameter", place) for place, name in enumerate(parameters)}
    named |= {name: CallArgument("input", place) for place, name in enumerate(inputs)}
    signature = signature_of(source, function)
    wanted = [*signature.posonlyargs, *signature.args]
    defaults: list[ast.expr | None] = [None] * (len(wanted) - len(signature.defaults)) + [*signature.defaults]
    names = {argument.arg for argument in [*wanted, *signature.kwonlyargs]}
    unnamed = [named[name] for name in inputs if name not in names]
    aliases = [[name.replace(".", "_"), *unique_leaf(name, leaves)] for name in parameters]
    loose = [place for place, own in enumerate(aliases) if not names & set(own)]
    options = [place for place, name in enumerate(init) if name not in names]
    found: list[CallArgument] = []
    skipped = False
    for argument, default in zip(wanted, defaults, strict=True):
        one = chosen(function, argument.arg, default, named, unnamed)
        if one is None:
            skipped = True  # it keeps its default, so later arguments have to be passed by name
        else:
            found.append(CallArgument(one.origin, one.index, argument.arg if skipped else None))
    if signature.vararg is not None:
        more = [*unnamed, *(CallArgument("parameter", place) for place in loose)]
        more += [CallArgument("init", place) for place in options if signature.kwarg is None]
        if more and skipped:
            raise RequestError(f"an argument of {function} before *{signature.vararg.arg} is none of the problem's")
        found += more
        unnamed = []
    for argument, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True):
        one = chosen(function, argument.arg, default, named, unnamed)
        if one is not None:
            found.append(CallArgument(one.origin, one.index, argument.arg))
    if signature.kwarg is not None:
        found += [CallArgument("init", place, init[place]) for place in options]
        found += [CallArgument(one.origin, one.index, inputs[one.index]) for one in unnamed]
        if signature.vararg is None:
            found += [CallArgument("parameter", place, alias) for place in loose for alias in aliases[place]]
    return tuple(found)


def unique_leaf(name: str, leaves: Sequence[str]) -> list[str]:
    """The last part of a parameter's name, if no other parameter has the same; else nothing."""
    leaf = name.rpartition(".")[2]
    return [leaf] if leaves.count(leaf) == 1 and leaf != name.replace(".", "_") else []


def chosen(
    function: str, name: str, default: ast.expr | None, named: dict[str, CallArgument], unnamed: list[CallArgument]
) -> CallArgument | None:
    """The value for an argument; None if it keeps its default. Raises `RequestError` if there is neither."""
    if name in named:
        return named[name]
    is_none = isinstance(default, ast.Constant) and default.value is None
    if unnamed and (default is None or is_none):
        return unnamed.pop(0)
    if default is None:
        raise RequestError(f"{function}'s argument {name!r} is none of the problem's: {', '.join(named)}")
    return None


def signature_of(source: str, function: str) -> ast.arguments:
    functions = [
        node for node in syntax.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    if not functions:
        raise RequestError(f"the candidate has no function {function}")
    return functions[-1].args
