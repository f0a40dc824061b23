"""Adapts the constructor of a known kernel's class to another problem, by editing its source.

`ModelNew` gets the constructor arguments of the problem's `Model` by position. A kernel of another problem may have
other arguments, or the same ones in another order, and would for example use a number of channels as an epsilon.
"""

from __future__ import annotations

import ast
import copy
import textwrap

import msgspec

from kernelwright.model import Candidate
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import defaults_of, parameters_of
from kernelwright.source.edits import Edit, edited


def constructed_as(candidate: Candidate, problem: str) -> Candidate | None:
    """The candidate with the constructor arguments of class `Model` in the text of a problem; None if `Model` does not
    have all of the candidate's arguments by name. A candidate with `kernel_function` is returned unchanged: it gets
    arguments by name."""
    own = _constructor(candidate.source, "ModelNew")
    if own is None:
        return candidate
    other = _constructor(problem, "Model")
    wanted = _plain(other.args) if other is not None else ast.arguments([], [ast.arg("self")], None, [], [], None, [])
    names = [argument.arg for argument in parameters_of(own.args)[1:]]
    if wanted is None or own.args.vararg or own.args.kwarg:
        return None
    if not {*names} <= {argument.arg for argument in parameters_of(wanted)[1:]}:
        return None
    if ast.unparse(wanted) == ast.unparse(_plain(own.args) or own.args):
        return candidate
    made = copy.copy(own)
    made.args = wanted
    made.args.args[0] = parameters_of(own.args)[0]
    text = textwrap.indent(ast.unparse(made), " " * own.col_offset).lstrip()
    return msgspec.structs.replace(candidate, source=edited(candidate.source, [Edit(own, own, text)]))


def _constructor(source: str, name: str) -> ast.FunctionDef | None:
    """`__init__` of the module's class `name`; None if it has none or the text is not Python."""
    try:
        tree = syntax.parse(source)
    except (SyntaxError, ValueError):
        return None
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    body = classes[-1].body if classes else []
    return next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)


def _plain(arguments: ast.arguments) -> ast.arguments | None:
    """Arguments without annotations; None if a default is not a literal, or there is a `*` or `**` argument."""
    if arguments.vararg or arguments.kwarg or not all(map(_is_literal, defaults_of(arguments).values())):
        return None
    made = copy.deepcopy(arguments)
    for argument in parameters_of(made):
        argument.annotation = None
    return made


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True
