"""Qualification of a problem: whether its cases accept trivial answers, such as zeros or a copied input.

The judge tries the answers (`judge.trivial`), once per worker and case. A case that this machine cannot judge neither
qualifies nor fails; nor does a derived one that accepts an answer, where another case accepts none.
"""

from __future__ import annotations

from kernelwright.model import CaseInfo, CaseQualification, QualificationReport, TensorSpec, TrivialAnswer
from kernelwright.worker.session import Session

SHOWN = 3
"""Maximum number of reasons in the message; the report lists every answer."""


def qualify(session: Session, every: bool) -> QualificationReport:
    """The report on the small cases and the smallest timed one. every: on all cases, with their draws.

    The session keeps the result; later evaluations report a problem that failed.
    """
    info = session.loaded()
    judged: list[CaseQualification] = []
    missed: dict[str, str] = {}
    for one in info.cases if every else gate(info.cases):
        found = session.qualification(one.case.name, draws=every)
        if isinstance(found, str):
            missed[one.case.name] = found
        else:
            judged.append(found)
    cases = {one.case.name: one for one in info.cases}
    if kept := [one for one in judged if not (one.accepted and cases[one.case].case.derived)]:
        missed |= {one.case: f"its sizes were derived, and {in_words(cases[one.case], one.accepted[0], one.unused)}"
                   for one in judged if one not in kept}  # fmt: skip
        judged = kept
    reasons = list(dict.fromkeys(
        in_words(cases[one.case], answer, one.unused) for one in judged for answer in one.accepted
    ))  # fmt: skip
    more = [f"and {len(reasons) - SHOWN} more"] if len(reasons) > SHOWN else []
    report = QualificationReport(
        problem=info.name, qualifies=not reasons if judged else None, reason="; ".join([*reasons[:SHOWN], *more]),
        cases=tuple(judged), not_judged=missed,
        constant=in_all([one.constant for one in judged]) + in_all([numbers(one) for one in info.cases]),
    )  # fmt: skip
    session.report = report
    return report


def numbers(info: CaseInfo) -> tuple[str, ...]:
    """The inputs of a case that are no tensors, with their values."""
    named = zip(info.input_names, info.inputs, strict=False)
    return tuple(f"input {name} = {value!r}" for name, value in named if not isinstance(value, TensorSpec))


def in_all(names: list[tuple[str, ...]]) -> tuple[str, ...]:
    """What occurs in each of `names`, in the order of the first."""
    return tuple(name for name in (names[0] if names else ()) if all(name in one for one in names))


def gate(cases: tuple[CaseInfo, ...]) -> list[CaseInfo]:
    """The cases that are checked before a run: all small ones, and the smallest timed one."""
    timed = min((one for one in cases if one.case.timed), key=lambda one: (one.bytes, one.flop))
    return [*(one for one in cases if one.case.small), timed]


def in_words(info: CaseInfo, answer: TrivialAnswer, unused: tuple[str, ...] = ()) -> str:
    """Why an accepted answer disqualifies a case. unused: inputs that no output depends on."""
    case = info.case.name
    if 0 in info.outputs[answer.output].shape:
        output = "the output" if len(info.outputs) == 1 else f"output {answer.output}"
        return f"on case {case} {output} has no elements, so that anything would pass"
    what = answer.name.removeprefix("without ")
    if answer.name.startswith("without "):
        proof = ": in float64, too, no output depends on it" if what in unused else ""
        return f"on case {case} a kernel that ignores {what} would pass{proof}"
    error = "exactly right" if not answer.max_rel_error else f"off by {answer.max_rel_error:.2g} of the output's scale"
    return f"on case {case} {answer.name} would pass ({error})"
