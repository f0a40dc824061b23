"""Why candidates failed, for the page of a long run: every reason once, with the trials that ended so.

Reasons that differ in their numbers alone are one. The most frequent come first.
"""

from __future__ import annotations

import re

from kernelwright.report.chosen import FEW
from kernelwright.report.trials import outcome, why
from kernelwright.report.view import RunView
from kernelwright.text.markdown import shortened
from kernelwright.text.table import Grid, Section

NUMBERS = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")

REASON_CHARACTERS = 600

MOST_CHARACTERS = 250_000
"""Of all reasons together; a run with more has them in `show`."""

HEADER = ("status", "times", "trials", "reason, of the first of them")

NAMED = 12
"""Trials that are named for one reason."""


def reasons_section(view: RunView) -> Section | None:
    """None for a run with a kernel whose trials are all shown whole, and where none failed."""
    if len(view.trials) <= FEW and view.leader is not None:
        return None
    found: dict[tuple[str, str], list[int]] = {}
    examples: dict[tuple[str, str], str] = {}
    for trial in view.trials:
        if trial.score_us is None:
            key = outcome(trial), NUMBERS.sub("#", why(trial)[:REASON_CHARACTERS])
            found.setdefault(key, []).append(trial.number)
            examples.setdefault(key, shortened(why(trial)[: 2 * REASON_CHARACTERS], REASON_CHARACTERS))
    if not found:
        return None
    rows, characters = [], 0
    for key, numbers in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[1][0])):
        more = f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else ""
        rows.append((key[0], str(len(numbers)), ", ".join(map(str, numbers[:NAMED])) + more, examples[key] or "-"))
        characters += sum(map(len, rows[-1]))
        if characters > MOST_CHARACTERS:
            break
    left = len(found) - len(rows)
    return Section(
        id="reasons",
        title="Why candidates failed",
        grid=Grid(HEADER, tuple(rows), frozenset(HEADER[2:])),
        notes=(f"{left} further reasons are rarer; kernelwright show {view.folder} has them.",) if left else (),
    )
