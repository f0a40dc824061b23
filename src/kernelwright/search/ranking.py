"""Which trials are best, and which of them are really different. Pure functions over trials.

It does not decide what to do with them (a strategy does). The one rule: a lower score is better, and of two equal
ones the earlier wins, so a change that gains nothing never displaces what was there.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernelwright.model import Status, Trial

REPAIRABLE = frozenset(
    {
        Status.WRONG,
        Status.COMPILE_ERROR,
        Status.RUNTIME_ERROR,
        Status.TIMEOUT,
        Status.CRASHED,
        Status.REJECTED,
    }
)
"""Failures with a reason that another version of the source can take away."""


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Trials with a score, best first."""
    scored = [(trial.score_us, trial.number, trial) for trial in trials if trial.score_us is not None]
    return [trial for _, _, trial in sorted(scored, key=lambda entry: entry[:2])]


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """The first trial of each compiled kernel, in the order given.

    Sources that differ only in comments, names or spelling compile to the same code. Where nothing was compiled,
    the candidate's own identity counts.
    """
    seen: dict[str, Trial] = {}
    for trial in trials:
        seen.setdefault(_identity(trial), trial)
    return list(seen.values())


def is_repairable(trial: Trial) -> bool:
    return trial.evaluation is not None and trial.evaluation.status in REPAIRABLE


def _identity(trial: Trial) -> str:
    if trial.evaluation is not None and trial.evaluation.compiled is not None:
        return f"compiled {trial.evaluation.compiled}"
    return f"candidate {trial.proposal.candidate.id}" if trial.proposal.candidate else f"trial {trial.number}"
