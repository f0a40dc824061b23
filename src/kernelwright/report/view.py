"""A run as its views see it: the journal's records, read once, with the few questions that all views ask.

It renders and writes nothing. The rule: a kernel is the best only once its confirmation stands; before that it leads.
The user's own starter needs no confirmation: it is what everything else is held against.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.history import best_trial, seed_trial
from kernelwright.journal import Journal, Session
from kernelwright.model import CaseInfo, Evaluation, Request, RunInfo, Status, Trial
from kernelwright.search.ranking import ranked
from kernelwright.stats import geometric_mean
from kernelwright.tunables import apply_config


@dataclass(frozen=True)
class RunView:
    """trials: the finished ones. open_requests: asked and not finished, so the search is not over. confirmed:
    confirming evaluations by trial number. blob: the text of a hash."""

    folder: Path
    info: RunInfo
    trials: tuple[Trial, ...]
    confirmed: Mapping[int, Evaluation]
    open_requests: tuple[Request, ...]
    sessions: tuple[Session, ...]
    blob: Callable[[str], str]

    @property
    def seed(self) -> Trial | None:
        """What every gain is measured against."""
        return seed_trial(self.trials)

    @property
    def leader(self) -> Trial | None:
        """The lowest score of the search, confirmed or not."""
        return best_trial(self.trials)

    @property
    def best(self) -> Trial | None:
        """The lowest score of what stands; None where nothing does, while a better one awaits confirmation, and
        while nothing but the starter stands in a search that is not over."""
        for trial in ranked(self.trials):
            if self.stands(trial):
                return None if self.open_requests and trial.number not in self.confirmed else trial
            if trial.number not in self.confirmed:
                return None
        return None

    @property
    def refused(self) -> tuple[Trial, ...]:
        """Better than the seed in the search, but not in their confirmation; best first."""
        return tuple(
            trial for trial in ranked(self.trials) if trial.number in self.confirmed and not self.stands(trial)
        )

    def stands(self, trial: Trial) -> bool:
        """Whether it is the user's starter, or its confirmation passed and kept the lead over the seed."""
        seed, confirmation = self.seed, self.confirmed.get(trial.number)
        if trial is seed and trial.request.candidate is not None:
            return True
        if confirmation is None or confirmation.status is not Status.PASSED or confirmation.score_us is None:
            return False
        led = seed is not None and _score(trial) < _score(seed)
        return not led or confirmation.score_us < _score(seed)

    def figure(self, trial: Trial) -> Evaluation | None:
        """The evaluation whose numbers may be reported: the confirmation's where it stands."""
        confirmation = self.confirmed.get(trial.number)
        return confirmation if confirmation is not None and self.stands(trial) else trial.evaluation


def read_run(journal: Journal) -> RunView:
    """Everything that is in `journal` now; the blobs are read when asked for, so keep it open meanwhile."""
    trials = tuple(journal.trials())
    finished = {trial.number for trial in trials}
    asked = [event.payload for event in journal.events() if isinstance(event.payload, Request)]
    return RunView(
        folder=journal.folder,
        info=journal.info,
        trials=trials,
        confirmed=journal.confirmations(),
        open_requests=tuple(request for request in asked if request.number not in finished),
        sessions=tuple(journal.sessions()),
        blob=journal.blob,
    )


def _score(trial: Trial | None) -> float:
    return math.inf if trial is None or trial.score_us is None else trial.score_us


def source_of(trial: Trial) -> str | None:
    """The candidate's text with its config written in, ready to use; None where there was no candidate."""
    candidate = trial.proposal.candidate
    return None if candidate is None else apply_config(candidate.source, candidate.config)


def share_of_bound(evaluation: Evaluation, cases: tuple[CaseInfo, ...]) -> float | None:
    """Geometric mean over the timed cases of bound over time; None where nothing was timed."""
    bounds_us = {info.case.name: info.bound.bound_us for info in cases}
    shares = [
        bounds_us[result.case] / result.timing.median_us
        for result in evaluation.results
        if result.timing is not None and result.case in bounds_us and result.timing.median_us > 0
    ]
    return geometric_mean(shares) if shares else None
