"""A qualification as text: for each case, which trivial answers would pass, how far off they are, and at what
tolerance they would pass.

An answer that the usual atol = rtol = 1e-2 would let through is named even where the problem qualifies, because that is
what other evaluators use.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelwright.model import (
    CaseQualification,
    Environment,
    Implementation,
    ProblemInfo,
    QualificationReport,
    TrivialAnswer,
)
from kernelwright.report.bounds import bounds_text
from kernelwright.report.derived import derived_text
from kernelwright.report.evaluation import IEEE, TF32, constant_texts, dead_text, environment_settings, settings_text
from kernelwright.report.stated import stated_text
from kernelwright.text.table import table

LAYOUTS = {
    "dense": 'layouts: a candidate may serve dense inputs only (LAYOUTS = "any" demands all strides)',
    "any": "layouts: a candidate has to serve inputs of any strides",
}

LIBRARY = {
    "none": 'library steps: none (LIBRARY = "finish" or "any" allows some)',
    "finish": "library steps: reductions of what a candidate's kernels wrote, over 1/16 of the bytes of a case at most "
    '(LIBRARY = "finish")',
    "any": 'library steps: every operator that only computes new tensors (LIBRARY = "any")',
}

USUAL = 1e-2
"""The atol = rtol that KernelBench and most evaluators compare with."""


def qualification_text(report: QualificationReport, title: str) -> str:
    """title: of the problem. The verdict, one table per case, and what could not be judged."""
    parts = [
        verdict(report, title),
        *([dead_text(report.dead)] if report.dead else []),
        *constant_texts(report.constant),
    ]
    parts += [case_text(case) for case in report.cases]
    if report.cases:
        parts.append(usual_text(report))
    if report.not_judged:
        parts.append("\n".join(["not counted:", *(f"  {case}: {why}" for case, why in report.not_judged.items())]))
    return "\n\n".join(parts)


def verdict(report: QualificationReport, title: str) -> str:
    """One line."""
    if report.qualifies is None:
        return f"{title}: no case could be judged on this machine"
    if report.qualifies:
        return f"{title} qualifies: no trivial answer passes, and everything that a kernel is given matters"
    return f"{title} does not qualify: {report.reason}"


def case_text(case: CaseQualification) -> str:
    """Every answer with its errors; margin: how many times over what is allowed."""
    every = (*case.answers, *case.ignored)
    several = len({answer.output for answer in every}) > 1
    header = ["answer", "verdict", "max error", "allowed", "rms error", "allowed", "margin", "allclose from"]
    rows = [
        [
            f"output {answer.output}: {answer.name}" if several else answer.name,
            _verdict(answer, case),
            _number(answer.max_rel_error),
            _number(answer.allowed_rel_error),
            _number(answer.rms_rel_error),
            _number(answer.allowed_rms_error),
            _number(answer.margin),
            _number(answer.allclose_from),
        ]
        for answer in every
    ]
    lines = [f"{case.case}:", table(header, rows, left=("verdict",))]
    lines += [
        f"  output {output} is whole numbers that rounding changes: each is right as PyTorch or as float64 has it"
        for output in case.rounded
    ]
    return "\n".join([*lines, *draws_texts(case)])


def draws_texts(case: CaseQualification) -> list[str]:
    """How many draws judge a candidate, those that do not judge every element, and those that were replaced."""
    if not case.draws:
        return []
    partly = [f"{draw.used} ({draw.judged:.1%})" for draw in case.draws if draw.judged < 1]
    other = [f"{draw.offered} → {draw.used}" for draw in case.draws if draw.used != draw.offered]
    whole = [draw.used for draw in case.draws if draw.judged == 1]
    least = sum(draw.judged for draw in case.draws) / len(case.draws)
    lines = [f"  {len(case.draws)} draws judge a candidate, {len(whole)} of them every element; together {least:.1%}",
             f"  inputs that judge all of them: {'; '.join(dict.fromkeys(whole))}"]  # fmt: skip
    lines += [f"  inputs that judge only a share of the elements: {'; '.join(partly)}"] * bool(partly)
    lines += [f"  inputs that cannot be judged fairly, and those in their place: {'; '.join(other)}"] * bool(other)
    return lines


def usual_text(report: QualificationReport) -> str:
    """What the usual tolerance would have let through."""
    lines = []
    for case in report.cases:
        passing = [answer.name for answer in (*case.answers, *case.ignored) if accepted_at(answer, USUAL)]
        if passing:
            lines.append(f"  {case.case}: {', '.join(passing)}")
    if not lines:
        return f"at atol = rtol = {USUAL:g} every one of these answers would be rejected, too"
    return "\n".join([f"at atol = rtol = {USUAL:g} these would pass:", *lines])


def accepted_at(answer: TrivialAnswer, tolerance: float) -> bool:
    """Whether `torch.allclose` with atol = rtol = tolerance accepts it."""
    return answer.allclose_from is not None and answer.allclose_from <= tolerance


def _verdict(answer: TrivialAnswer, case: CaseQualification) -> str:
    if not answer.accepted:
        return "rejected"
    return "PASSES" if answer in case.accepted else "right"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def check_text(
    problem: ProblemInfo, report: QualificationReport, eager: Mapping[str, Implementation], environment: Environment
) -> str:
    """Derived cases, trivial answers, bounds, and what the problem states. eager: as for `bounds_text`."""
    parts = [
        derived_text(problem).rstrip("\n"),
        qualification_text(report, problem.title),
        bounds_text(problem.cases, eager),
        LAYOUTS[problem.layouts],
        TF32 if problem.precision == "tf32" else IEEE,
        LIBRARY[problem.library],
        stated_text(problem.stated) if problem.stated is not None else "",
        settings_text("environment", environment_settings(environment)),
    ]
    return "\n\n".join(filter(None, parts))
