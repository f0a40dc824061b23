"""Ranking and deduplication of trials. Pure functions over trials.

A lower score is better. Of two equal scores the earlier trial wins, so that a change without a gain never replaces an
earlier kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from kernelwright.model import Evaluation, Status, Trial
from kernelwright.stats import geometric_mean

REPAIRABLE = frozenset(
    {Status.WRONG, Status.COMPILE_ERROR, Status.RUNTIME_ERROR, Status.TIMEOUT, Status.CRASHED, Status.REJECTED}
)
"""Statuses of failures that another version of the source can fix."""


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Trials with a score, best first."""
    return sorted((trial for trial in trials if trial.score_us is not None), key=rank)


def rank(trial: Trial) -> tuple[float, int]:
    """The sort key of trials; a trial without a score sorts last."""
    score_us = trial.score_us
    return math.inf if score_us is None else score_us, trial.number


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """The first trial of each compiled kernel, in the order given.

    Sources that differ only in comments, names or spelling compile to the same code. Where nothing was compiled,
    the candidate's own identity counts.
    """
    seen: dict[str, Trial] = {}
    for trial in trials:
        seen.setdefault(identity(trial), trial)
    return list(seen.values())


def is_repairable(trial: Trial) -> bool:
    """Whether a repair of this failure is useful. Not for a verdict of an earlier run: its cause is known, and no
    request starts from a candidate that was not judged in this run."""
    evaluation = trial.evaluation
    return evaluation is not None and evaluation.status in REPAIRABLE and not evaluation.from_cache


def beats(one: Evaluation, other: Evaluation) -> bool:
    """Whether `one` has the lower score, with non-overlapping 95 % intervals where both have them (estimates have
    none).

    The intervals were measured at different times, so this is weaker than the paired verdict of `bench`. It prevents
    the luckiest of many equal candidates from counting as an improvement.
    """
    if one.score_us is None or other.score_us is None or one.score_us >= other.score_us:
        return False
    ours, theirs = _intervals_us(one), _intervals_us(other)
    if not theirs or not theirs.keys() <= ours.keys():
        return True
    return geometric_mean([ours[case][1] for case in theirs]) < geometric_mean([low for low, _ in theirs.values()])


def forced_slowdowns(evaluation: Evaluation) -> tuple[str, ...]:
    """Why the GPU clock was reduced during the timing of an evaluation, without reductions caused by the kernel's own
    power. A gain over such times may come from the clock alone."""
    clocks = [result.timing.clocks for result in evaluation.results if result.timing is not None]
    forced = [one.slowdowns for one in clocks if one is not None and one.is_forced]
    return tuple(dict.fromkeys(reason for reasons in forced for reason in reasons))


def _intervals_us(evaluation: Evaluation) -> dict[str, tuple[float, float]]:
    return {
        result.case: result.timing.ci95_us
        for result in evaluation.results
        if result.timing is not None and result.timing.ci95_us is not None
    }


def identity(trial: Trial) -> str:
    """The identity of a kernel for deduplication: its compiled code; where nothing was compiled, its source and
    config."""
    if trial.evaluation is not None and trial.evaluation.compiled is not None:
        return f"compiled {trial.evaluation.compiled}"
    return f"candidate {trial.proposal.candidate.id}" if trial.proposal.candidate else f"trial {trial.number}"
