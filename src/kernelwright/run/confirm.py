"""Confirmation of the best trial: fresh process, fresh seeds, held-out cases.

It evaluates nothing itself. Until a candidate is confirmed it is not the best, and only the
confirmation's figure counts. The user's own starter needs no proof: everything else is compared with it, and
what remains in a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.model import KNOWN, Candidate, Evaluation, Status, Trial
from kernelwright.search.convergence import seed_trial
from kernelwright.search.ranking import beats, forced_slowdowns, ranked


@dataclass(frozen=True)
class Confirmed:
    """best: the confirmed trial, best_us its score; None where none is. refused: those tried before it."""

    best: int | None = None
    best_us: float | None = None
    refused: tuple[int, ...] = ()


def confirmed_best(
    trials: Sequence[Trial],
    confirmations: Mapping[int, Evaluation],
    confirm: Callable[[int, Candidate], Evaluation],
) -> Confirmed:
    """Tried best first. One that beat the seed in the search must do so again when it is confirmed. Where the seed was
    timed under a forced slowdown, nothing can be confirmed to beat it.

    confirmations: those made in earlier sessions, which are not made again.
    """
    seed = seed_trial(trials)
    refused: dict[int, Candidate] = {}
    ahead_of_seed = True
    for trial in ranked(trials):
        candidate, searched = trial.proposal.candidate, trial.evaluation
        if seed is None or seed.evaluation is None or candidate is None or searched is None:
            continue
        if trial is seed:
            if trial.request.candidate is not None and trial.proposal.author != KNOWN:
                return Confirmed(trial.number, trial.score_us, tuple(refused))
            ahead_of_seed = False
        elif ahead_of_seed and not beats(searched, seed.evaluation):
            continue
        if candidate in refused.values():
            continue
        evaluation = confirmations.get(trial.number) or confirm(trial.number, candidate)
        passed = evaluation.status is Status.PASSED and evaluation.score_us is not None
        gained = beats(evaluation, seed.evaluation) and not forced_slowdowns(seed.evaluation)
        if passed and (not ahead_of_seed or gained):
            return Confirmed(trial.number, evaluation.score_us, tuple(refused))
        refused[trial.number] = candidate
    return Confirmed(refused=tuple(refused))
