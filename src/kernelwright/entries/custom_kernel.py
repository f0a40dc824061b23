"""`custom_kernel(data)`, the entry of submissions to GPU MODE: one argument, which has all inputs."""

from __future__ import annotations

import ast

from kernelwright.entries.called import NotCalled, arguments_of, function_named
from kernelwright.model import ProblemInfo

NAME = "custom_kernel"


def entry(tree: ast.Module, problem: ProblemInfo) -> str | None:
    """A problem with one argument passes it, one with several a tuple of them."""
    function = function_named(tree, NAME)
    if function is None:
        return None
    if len(function.args.args) != 1:
        raise NotCalled(f"line {function.lineno}: {NAME} has {len(function.args.args)} arguments; it takes one, data")
    names = arguments_of(problem)
    data = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"def kernel_function({', '.join(names)}):\n    return {NAME}({data})"
