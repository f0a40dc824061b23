"""A context without the problem's source (`--no-source`): ATen operators replace it. Pure.

The names of arguments and parameters, shapes, dtypes and bounds stay, because a kernel cannot be written without them.
Removed are the names of the problem and its cases, its docstring and its modules. Also removed are lines of an
evaluation that come from the reference, or that use a name from the problem's source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from kernelwright.model import CaseInfo, Evaluation, ProblemInfo, Profile, Trial
from kernelwright.propose.protocol import Context
from kernelwright.source import parse as syntax
from kernelwright.source.parameter_names import as_argument

NAME = "computation"
WITHHELD = "(a line was left out: it may quote the problem)"
WORD = re.compile(r"[A-Za-z_]\w*")
PROBLEM_LINE = re.compile(r"\.py\b.*\bline \d|get_inputs|get_init_inputs|\breference\b.*\braised\b|forward raised")
"""Matches messages about the problem's own file."""


def without_source(context: Context) -> Context:
    """The context, reduced to what a prompt may show."""
    info = context.problem
    names = {case.case.name: f"case{number}" for number, case in enumerate(info.cases, 1)}
    private = private_words(info)

    def trial(one: Trial) -> Trial:
        if one.evaluation is None:
            return one
        candidate = one.proposal.candidate
        own = set(WORD.findall(candidate.source)) if candidate is not None else set()
        return msgspec.structs.replace(one, evaluation=_evaluation(one.evaluation, names, private - own))

    def profile(one: Profile) -> Profile:
        return msgspec.structs.replace(
            one, case=names.get(one.case, one.case), method=_lines(one.method, names, private)
        )

    profiles = {number: tuple(map(profile, several)) for number, several in context.profiles.items()}
    return replace(
        context,
        problem=withheld_problem(info, names),
        trials=tuple(map(trial, context.trials)),
        profiles=profiles,
        lessons=(),
    )


def withheld_problem(info: ProblemInfo, names: Mapping[str, str]) -> ProblemInfo:
    """names: the new name of each case."""

    def case(one: CaseInfo) -> CaseInfo:
        renamed = msgspec.structs.replace(one.case, name=names[one.case.name], params={})
        inputs = tuple("text" if isinstance(value, str) else value for value in one.inputs)
        return msgspec.structs.replace(one, case=renamed, inputs=inputs, init=(), init_names=(), assumed=())

    return msgspec.structs.replace(
        info, name=NAME, source="", docstring="", modules={}, stated=None, cases=tuple(map(case, info.cases))
    )


def private_words(info: ProblemInfo) -> set[str]:
    """Names that the problem's source binds, its module names, and the problem's name, without the names of the
    interface."""
    public = {word for case in info.cases for name in case.input_names for word in WORD.findall(name)}
    public |= {word for name in info.parameters for word in [*WORD.findall(name), as_argument(name)]}
    found: set[str] = {info.name}
    for text in [info.source, *info.modules.values()]:
        try:
            tree = syntax.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            found |= set(WORD.findall(text))
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
    found |= {word for path in info.modules for word in WORD.findall(path.removesuffix(".py"))}
    return found - public - {"self", "Model", "forward"}


def _evaluation(evaluation: Evaluation, names: Mapping[str, str], private: set[str]) -> Evaluation:
    results = tuple(
        msgspec.structs.replace(
            one, case=names.get(one.case, one.case), reason=_lines(one.reason, names, private),
            below_bound=_lines(one.below_bound, names, private),
        )
        for one in evaluation.results
    )  # fmt: skip
    return msgspec.structs.replace(
        evaluation, results=results, reason=_lines(evaluation.reason, names, private),
        log=_lines(evaluation.log, names, private), unqualified=_lines(evaluation.unqualified, names, private),
    )  # fmt: skip


def _lines(text: str, names: Mapping[str, str], private: set[str]) -> str:
    """`text` with cases renamed and lines that may quote the problem replaced. A message that names a line of the
    problem's file is replaced completely, because its quotation may span several lines."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", names[name], text)
    if PROBLEM_LINE.search(text):
        return WITHHELD
    return "\n".join(WITHHELD if private & set(WORD.findall(line)) else line for line in text.split("\n"))
