"""The ancestry of trials: the path from the run's first kernel to a trial.

Of several parents the first is the one that a trial was written from (`Request.parents`). Pure.
"""

from __future__ import annotations

from kernelwright.model import Trial
from kernelwright.report.view import RunView


def lineage(view: RunView, trial: Trial | None) -> list[int]:
    """Numbers of the trials from the root down to `trial`, by first parents, without a seed that failed; empty where
    there is none."""
    found: dict[int, None] = {}
    while trial is not None and trial.number not in found and not trial.is_failed_seed:
        found[trial.number] = None
        parents = trial.request.parents
        trial = view.by_number.get(parents[0]) if parents else None
    return [*found][::-1]
