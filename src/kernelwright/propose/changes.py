"""Changes from one kernel to another, as diffs with their speedups. Pure.

The ledger (`tried`) has a line for every trial; this file shows the code of a few. Sources are compared with their
configs written in, so a tuned number is a change like any other.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from kernelwright.model import Operator, Trial
from kernelwright.propose.sections import effective_source
from kernelwright.propose.tried import outcome, versus, written
from kernelwright.text.markdown import fenced

DIFF_LINES = 120
ATTEMPT_LINES = 24
MOST_ATTEMPTS = 3


def change(trial: Trial, trials: Sequence[Trial]) -> str:
    """The diff from the parent of a trial's code to the trial, with its speedup; tuned numbers are included. "" where
    there is no earlier version."""
    by_number = {one.number: one for one in trials}
    root = written(trial, by_number)
    known = [by_number[number] for number in root.request.parents if number in by_number]
    before = next((one for one in known if not one.is_failed_seed), None)
    if before is None and root is not trial:
        before = root
    if before is None or before.proposal.candidate is None or trial.proposal.candidate is None:
        return ""
    lines = diff_lines(before, trial)
    if not lines:
        return f"Nothing: it is the same as trial {before.number}."
    cut = [] if len(lines) <= DIFF_LINES else [f"… {len(lines) - DIFF_LINES} more lines"]
    worth = f"Trial {before.number}: {outcome(before)}. Trial {trial.number}: {outcome(trial)}{versus(before, trial)}."
    return worth + "\n\n" + fenced("\n".join(lines[:DIFF_LINES] + cut), "diff")


def attempts(parent: Trial, trials: Sequence[Trial]) -> str:
    """The latest changes of this code, each with its speedup; "" where there are none."""
    by_number = {one.number: one for one in trials}
    root = written(parent, by_number)
    parts = []
    for trial in trials:
        origin = by_number.get(trial.request.parents[0]) if trial.request.parents else None
        if (
            origin is None
            or origin.is_failed_seed
            or trial.request.operator is Operator.TUNE
            or trial.proposal.candidate is None
        ):
            continue
        if origin.proposal.candidate is None or written(origin, by_number) is not root:
            continue
        lines = diff_lines(origin, trial, context=0)[2:]
        cut = [] if len(lines) <= ATTEMPT_LINES else [f"… {len(lines) - ATTEMPT_LINES} more lines"]
        said = f"Trial {trial.number}: {outcome(trial)}{versus(origin, trial)}."
        parts.append(said + "\n\n" + fenced("\n".join(lines[:ATTEMPT_LINES] + cut), "diff"))
    return "\n\n".join(parts[-MOST_ATTEMPTS:])


def diff_lines(before: Trial, after: Trial, context: int = 2) -> list[str]:
    """The unified diff of two trials with candidates, with their configs written in."""
    assert before.proposal.candidate is not None
    assert after.proposal.candidate is not None
    old, new = effective_source(before.proposal.candidate), effective_source(after.proposal.candidate)
    names = f"trial {before.number}", f"trial {after.number}"
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), *names, "", "", context, ""))
