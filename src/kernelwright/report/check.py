"""What `check` found of a problem: as text."""

from __future__ import annotations

from collections.abc import Mapping

from kernelwright.model import Environment, Implementation, ProblemInfo, QualificationReport
from kernelwright.report.bounds import bounds_text
from kernelwright.report.derived import derived_text
from kernelwright.report.evaluation import IEEE, TF32, environment_settings, settings_text
from kernelwright.report.qualification import qualification_text
from kernelwright.report.stated import stated_text

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
