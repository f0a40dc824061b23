"""Progress of a search, round by round: the data of the convergence table. Pure; renders nothing.

Every gain is measured against the seed: the first trial that passed. All later trials descend from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.model import Evaluation, Profile, Trial
from kernelwright.search.ranking import beats, ranked


@dataclass(frozen=True)
class Round:
    """One row of the convergence table.

    best: the best trial of this round. best_so_far: the best trial of this round and all rounds before. Both are None
    while no trial has passed. speedup: score of the seed / score of the best so far, so 1 means no gain. Scores come
    from the search, not from the confirmation.
    """

    round: int
    trials: int
    passed: int
    best: int | None
    best_us: float | None
    best_so_far: int | None
    best_so_far_us: float | None
    speedup: float | None


def seed_trial(trials: Sequence[Trial]) -> Trial | None:
    """The trial that the search started from: the first one with a score (a starter may have failed before it)."""
    return min((trial for trial in trials if trial.score_us is not None), key=lambda trial: trial.number, default=None)


def best_trial(trials: Sequence[Trial]) -> Trial | None:
    """The trial with the lowest score; among equal scores the earliest."""
    return next(iter(ranked(trials)), None)


def gains(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that were faster than all before them by `beats`, in the order of their numbers. The seed is not a
    gain."""
    found: list[Trial] = []
    best = seed_trial(trials)
    for trial in sorted(trials, key=lambda trial: trial.number):
        if best is None or best.evaluation is None or trial.evaluation is None or trial.number <= best.number:
            continue
        if beats(trial.evaluation, best.evaluation):
            best = trial
            found.append(trial)
    return found


def compile_s(evaluation: Evaluation) -> float:
    """Compile time in seconds, summed over kernels that were compiled in parallel."""
    return evaluation.stages_s.get("compile", 0.0)


def gpu_s(evaluation: Evaluation | None, profiles: Sequence[Profile] = ()) -> float:
    """Seconds for which a trial occupied the GPU (without a GPU: the interpreter), for checking, timing and
    profiling."""
    stages_s = evaluation.stages_s if evaluation is not None else {}
    return sum(stages_s.get(stage, 0.0) for stage in ("draws", "verify", "time")) + profile_s(profiles)


def draws_s(evaluation: Evaluation) -> float:
    """The part of `gpu_s` that measured the tolerances of draws, which the first evaluation on a lane does."""
    return evaluation.stages_s.get("draws", 0.0)


def profile_s(profiles: Sequence[Profile]) -> float:
    return sum(profile.seconds for profile in profiles)


def convergence(trials: Sequence[Trial]) -> list[Round]:
    """One row for each round that has a finished trial."""
    seed = seed_trial(trials)
    by_round: dict[int, list[Trial]] = {}
    for trial in trials:
        by_round.setdefault(trial.request.round, []).append(trial)
    rows = []
    so_far: Trial | None = None
    for number in sorted(by_round):
        here = by_round[number]
        best = best_trial(here)
        so_far = best_trial([trial for trial in (so_far, best) if trial is not None])
        rows.append(
            Round(
                round=number,
                trials=len(here),
                passed=sum(trial.passed for trial in here),
                best=best.number if best else None,
                best_us=best.score_us if best else None,
                best_so_far=so_far.number if so_far else None,
                best_so_far_us=so_far.score_us if so_far else None,
                speedup=_speedup(seed, so_far),
            )
        )
    return rows


def _speedup(seed: Trial | None, trial: Trial | None) -> float | None:
    if seed is None or trial is None or seed.score_us is None or not trial.score_us:
        return None
    return seed.score_us / trial.score_us
