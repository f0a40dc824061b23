"""What the forms of entries have in common: the values of a problem by name, and the functions of a file."""

from __future__ import annotations

import ast
from ast import literal_eval

from kernelwright.model import ProblemInfo
from kernelwright.source.parameter_names import as_argument


class NotCalled(Exception):
    """A file has an entry that this problem cannot call. The message says why, and what to do."""


def function_named(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """The module-level function of this name, the last one."""
    return next((one for one in reversed(tree.body) if isinstance(one, ast.FunctionDef) and one.name == name), None)


def arguments_of(problem: ProblemInfo) -> list[str]:
    """The names of forward's arguments, without gradients."""
    case = problem.cases[0]
    return [*literal_eval(case.arguments)] if case.arguments else [*case.input_names]


def parameters_of(problem: ProblemInfo) -> list[str]:
    """The names under which a function gets the problem's parameters and buffers."""
    return [as_argument(name) for name in problem.cases[0].parameters]
