"""Figures that a problem set states for a problem, beside those found here."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.model import StatedBySet
from kernelwright.report.view import RunView
from kernelwright.text.markdown import shortened
from kernelwright.text.table import Grid, Section

CHARACTERS = 160
NO_FACTS = ("uuid",)
"""Facts that identify one workload and say nothing about all of them."""
NOTE = "kernelwright judges by its own measure"


def stated_text(stated: StatedBySet) -> str:
    """The set's facts and tolerances, a line each."""
    head = f"stated by {stated.set} for {stated.name} ({NOTE}):"
    return "\n".join([head, *(f"  {name}: {text}" for name, text in stated_rows(stated))])


def stated_section(view: RunView) -> Section | None:
    """None for a problem that is from no set."""
    stated = view.info.problem.stated
    if stated is None:
        return None
    return Section(
        id="stated",
        title=f"Stated by {stated.set}",
        grid=Grid(("what", "as stated"), tuple(stated_rows(stated)), frozenset({"as stated"})),
        notes=(f"{stated.name}; {NOTE}.",),
    )


def stated_rows(stated: StatedBySet) -> Iterator[tuple[str, str]]:
    """Names and texts; of the workloads' tolerances the least and the largest."""
    for name, text in stated.facts.items():
        yield name, shortened(text, CHARACTERS)
    if stated.cases:
        yield "workloads", str(len(stated.cases))
    for name in dict.fromkeys(name for facts in stated.cases.values() for name in facts if name not in NO_FACTS):
        values = [facts[name] for facts in stated.cases.values() if name in facts]
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(numbers) == len(values) and min(numbers) != max(numbers):
            yield name, f"{min(numbers):g} to {max(numbers):g}"
        else:
            yield name, shortened(", ".join(dict.fromkeys(map(str, values))), CHARACTERS)
