"""Derived cases as text: their sizes, and which numbers of the file stay as they are and why."""

from __future__ import annotations

import math
from typing import Any

from kernelwright.model import CaseInfo, ProblemInfo, TensorSpec


def derived_text(problem: ProblemInfo) -> str:
    """For `check`; "" where nothing was derived."""
    cases = [info for info in problem.cases if info.case.derived]
    lines = []
    if cases:
        lines = ["derived cases (small ones; --cases stated leaves them out):", *map(_case_line, cases)]
    if why := problem.left_alone.get(""):
        lines.append(f"no {'more' if cases else 'derived'} cases: {why}")
    numbers_of: dict[str, list[str]] = {}
    for name, reason in problem.left_alone.items():
        if name:
            numbers_of.setdefault(reason, []).append(name)
    if numbers_of:
        lines.append("left as they are:")
        lines += [f"  {', '.join(names)}: {reason}" for reason, names in numbers_of.items()]
    return "\n".join([*lines, ""]) if lines else ""


def derived_document(problem: ProblemInfo) -> dict[str, Any]:
    """The same for programs."""
    cases = {info.case.name: info.case.params for info in problem.cases if info.case.derived}
    return {"cases": cases, "left_alone": problem.left_alone}


def elements(info: CaseInfo) -> int:
    """Of inputs, parameters and outputs."""
    inputs = [spec for spec in info.inputs if isinstance(spec, TensorSpec)]
    return sum(math.prod(spec.shape) for spec in (*inputs, *info.parameters.values(), *info.outputs))


def _case_line(info: CaseInfo) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in info.case.params.items()) or "as the file has it"
    held_out = ", held out" if info.case.held_out else ""
    return f"  {info.case.name}: {sizes} ({elements(info):,} elements{held_out})"
