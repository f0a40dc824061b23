"""A run as its views see it: the journal's records, read once, with the few questions that all views ask.

It renders and writes nothing. The rule: a kernel is the best only once it was confirmed; before that it leads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.history import best_trial, seed_trial
from kernelwright.journal import Journal, Session
from kernelwright.model import CaseInfo, Evaluation, Request, RunInfo, Status, Trial
from kernelwright.stats import geometric_mean
from kernelwright.tunables import apply_config


@dataclass(frozen=True)
class RunView:
    """confirmed: confirming evaluations by trial number. open_requests: what waits for a proposal. blob: the text
    of a hash."""

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
        """The lowest score among what was confirmed; None while nothing was."""
        return best_trial([trial for trial in self.trials if self._is_confirmed(trial)])

    def figure(self, trial: Trial) -> Evaluation | None:
        """The evaluation whose numbers may be reported: the confirmation's where there is a good one."""
        return self.confirmed[trial.number] if self._is_confirmed(trial) else trial.evaluation

    def _is_confirmed(self, trial: Trial) -> bool:
        confirmation = self.confirmed.get(trial.number)
        return confirmation is not None and confirmation.status is Status.PASSED


def read_run(journal: Journal) -> RunView:
    """Everything that is in `journal` now; the blobs are read when asked for, so keep it open meanwhile."""
    return RunView(
        folder=journal.folder,
        info=journal.info,
        trials=tuple(journal.trials()),
        confirmed=journal.confirmations(),
        open_requests=tuple(journal.open_requests()),
        sessions=tuple(journal.sessions()),
        blob=journal.blob,
    )


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
