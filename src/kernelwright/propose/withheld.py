"""A context without the text of the problem (`--no-source`): operators replace it. Pure.

What a kernel has to be written from stays: the names of arguments and parameters, shapes, dtypes, bounds. The names of
the problem and of its cases, its docstring and its modules go; a line of an evaluation that comes from the reference,
or that uses a name that only the problem's text has, goes too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import msgspec

from kernelwright.model import CaseInfo, Evaluation, ProblemInfo, Scalar, TensorSpec, Trial
from kernelwright.propose.protocol import Context
from kernelwright.source import parse as syntax

NAME = "computation"
WITHHELD = "(a line was left out: it may quote the problem)"
WORD = re.compile(r"[A-Za-z_]\w*")
PROBLEM_LINE = re.compile(r"\.py\b.*\bline \d|get_inputs|get_init_inputs|\breference\b.*\braised\b|forward raised")
"""What messages about the problem's own file look like."""


def without_source(context: Context) -> Context:
    """The same context as far as a prompt may show it."""
    info = context.problem
    names = {case.case.name: f"case{number}" for number, case in enumerate(info.cases, 1)}
    private = private_words(info)

    def trial(one: Trial) -> Trial:
        if one.evaluation is None:
            return one
        candidate = one.proposal.candidate
        own = set(WORD.findall(candidate.source)) if candidate is not None else set()
        return msgspec.structs.replace(one, evaluation=_evaluation(one.evaluation, names, private - own))

    return Context(
        **{
            **{name: getattr(context, name) for name in context.__dataclass_fields__},
            "problem": withheld_problem(info, names),
            "trials": tuple(map(trial, context.trials)),
            "profiles": {
                number: tuple(
                    msgspec.structs.replace(
                        one, case=names.get(one.case, one.case), method=_lines(one.method, names, private)
                    )
                    for one in several
                )
                for number, several in context.profiles.items()
            },
            "lessons": (),
        }
    )


def withheld_problem(info: ProblemInfo, names: Mapping[str, str]) -> ProblemInfo:
    """names: what each case is called instead."""

    def case(one: CaseInfo) -> CaseInfo:
        renamed = msgspec.structs.replace(one.case, name=names[one.case.name], params={})
        inputs = tuple(_value(value) for value in one.inputs)
        return msgspec.structs.replace(one, case=renamed, inputs=inputs, init=(), init_names=(), assumed=())

    return msgspec.structs.replace(
        info, name=NAME, source="", docstring="", modules={}, stated=None, cases=tuple(map(case, info.cases))
    )


def _value(value: TensorSpec | Scalar | None) -> TensorSpec | Scalar | None:
    return "text" if isinstance(value, str) else value


def private_words(info: ProblemInfo) -> set[str]:
    """Names that the problem's text binds, and words of its text that are not Python's, less those of the interface."""
    public = {word for case in info.cases for name in case.input_names for word in WORD.findall(name)}
    public |= {word for name in info.parameters for word in [*WORD.findall(name), name.replace(".", "_")]}
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
    """`text` with cases renamed, and without the lines that may quote the problem. A message that names a line of the
    problem's file goes as a whole: what it quotes may have several lines."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", names[name], text)
    if PROBLEM_LINE.search(text):
        return WITHHELD
    return "\n".join(WITHHELD if private & set(WORD.findall(line)) else line for line in text.split("\n"))
