"""Which trial is the best once it has been proven again: fresh process, fresh seeds, held-out cases.

It evaluates nothing itself. The one rule: until a candidate is confirmed it is not the best, and only the
confirmation's figure counts. The user's own starter needs no proof: it is what everything else is held against.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.history import seed_trial
from kernelwright.model import Candidate, Evaluation, Status, Trial
from kernelwright.search.ranking import ranked


@dataclass(frozen=True)
class Confirmed:
    """best: the trial that stands, best_us its score; None where none does. refused: those tried before it."""

    best: int | None = None
    best_us: float | None = None
    refused: tuple[int, ...] = ()


def confirmed_best(
    trials: Sequence[Trial],
    confirmations: Mapping[int, Evaluation],
    confirm: Callable[[int, Candidate], Evaluation],
) -> Confirmed:
    """Tried best first. One that was better than the seed must be so again when it is confirmed.

    confirmations: those made in earlier sessions, which are not made again.
    """
    seed = seed_trial(trials)
    refused: dict[int, Candidate] = {}
    for trial in ranked(trials):
        candidate, score_us = trial.proposal.candidate, trial.score_us
        if candidate is None or score_us is None or candidate in refused.values():
            continue
        if trial is seed and trial.request.candidate is not None:
            return Confirmed(trial.number, score_us, tuple(refused))
        evaluation = confirmations.get(trial.number) or confirm(trial.number, candidate)
        limit_us = seed.score_us if seed and seed.score_us is not None and score_us < seed.score_us else math.inf
        confirmed_us = evaluation.score_us if evaluation.status is Status.PASSED else None
        if confirmed_us is not None and confirmed_us < limit_us:
            return Confirmed(trial.number, confirmed_us, tuple(refused))
        refused[trial.number] = candidate
    return Confirmed(refused=tuple(refused))
