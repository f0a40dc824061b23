"""A run for its views: the journal's records, read once, and the questions that all views ask.

It renders and writes nothing. The leading kernel becomes the best when it is confirmed. The user's own starter needs no
confirmation: everything else is compared with it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from kernelwright.journal import Journal, LaneTally, RunState, Session, fold
from kernelwright.model import CaseInfo, Evaluation, Profile, Request, RunInfo, Status, Trial, Usage
from kernelwright.run import StopReason
from kernelwright.run.confirm import Confirmed, known_best
from kernelwright.search.convergence import best_trial, gpu_s, seed_trial
from kernelwright.source import apply_config
from kernelwright.stats import geometric_mean

UNFINISHED = (None, StopReason.PAUSED.value, StopReason.INTERRUPTED.value)
"""How a session ends (None: it did not) that was not for the search to end."""


@dataclass(frozen=True)
class RunView:
    """trials: the finished ones. open_requests: asked and not finished, so the search is not over. confirmed:
    confirming evaluations by trial number. blob: the text of a hash. finished_s: by trial number, how long the run had
    been at work when it was finished. profiles: what profilers saw of a trial, by number. beside: what was paid for and
    is in none of the trials. lanes: by name; empty where the run has one worker."""

    folder: Path
    info: RunInfo
    trials: tuple[Trial, ...]
    confirmed: Mapping[int, Evaluation]
    open_requests: tuple[Request, ...]
    sessions: tuple[Session, ...]
    blob: Callable[[str], str]
    finished_s: Mapping[int, float] = field(default_factory=dict)
    profiles: Mapping[int, tuple[Profile, ...]] = field(default_factory=dict)
    beside: tuple[Usage, ...] = ()
    lanes: Mapping[str, LaneTally] = field(default_factory=dict)

    @cached_property
    def by_number(self) -> Mapping[int, Trial]:
        return {trial.number: trial for trial in self.trials}

    @cached_property
    def by_round(self) -> Mapping[int, tuple[Trial, ...]]:
        """The finished trials of each round that has some, rounds ascending."""
        return dict(sorted(_grouped((trial.request.round, trial) for trial in self.trials).items()))

    @cached_property
    def children(self) -> Mapping[int, tuple[Trial, ...]]:
        """The finished trials that were made from each, by number."""
        pairs = ((parent, trial) for trial in self.trials for parent in dict.fromkeys(trial.request.parents))
        return _grouped((parent, trial) for parent, trial in pairs if parent != trial.number)

    @cached_property
    def reflected_on(self) -> Mapping[int, tuple[Trial, ...]]:
        """The trials whose prompts asked about each, by number."""
        pairs = ((trial.proposal.reflection, trial) for trial in self.trials)
        return _grouped((reflection.trial, trial) for reflection, trial in pairs if reflection is not None)

    @cached_property
    def timing_kind(self) -> Literal["measured", "estimate"] | None:
        """Whether the search's scores are measured or estimates; None where there are none."""
        kinds = (trial.evaluation.timing_kind for trial in self.trials if trial.passed and trial.evaluation is not None)
        return next((kind for kind in kinds if kind is not None), None)

    @cached_property
    def seed(self) -> Trial | None:
        """The kernel that every gain is measured against: the first one that passed."""
        return seed_trial(self.trials)

    @property
    def seed_name(self) -> str:
        """What the seed is called. It is the starter, which is trial 0, only where that passed."""
        is_starter = self.info.starter is not None and self.seed is not None and self.seed.number == 0
        return "starter" if is_starter else "first kernel"

    @cached_property
    def leader(self) -> Trial | None:
        """The lowest score of the search, confirmed or not."""
        return best_trial(self.trials)

    @cached_property
    def standing(self) -> Confirmed | None:
        """The best kernel, by the rule of the run itself; None while that is open: the search is not over and only the
        starter could be named, or a confirmation is still to be made."""
        found = known_best(self.trials, self.confirmed)
        is_open = bool(self.open_requests) or self.is_unfinished
        return None if found is None or (is_open and found.best not in self.confirmed) else found

    @cached_property
    def at_work_s(self) -> float:
        """All sessions together; what lies between them is no time of the run."""
        return sum(session.seconds for session in self.sessions)

    @cached_property
    def gpu_s(self) -> float:
        """GPU seconds of all finished trials, their profiles included; confirmations belong to no trial."""
        return sum(gpu_s(trial.evaluation, self.profiles.get(trial.number, ())) for trial in self.trials)

    @property
    def is_unfinished(self) -> bool:
        """Whether the search has not ended by itself: it is running or paused, or was cut off or interrupted."""
        return bool(self.sessions) and self.sessions[-1].reason in UNFINISHED

    @property
    def was_interrupted(self) -> bool:
        """Whether the search was ended from outside."""
        return bool(self.sessions) and self.sessions[-1].reason == StopReason.INTERRUPTED.value

    @cached_property
    def best(self) -> Trial | None:
        """The best trial."""
        standing = self.standing
        return self._trial(standing.best) if standing is not None else None

    @cached_property
    def refused(self) -> tuple[Trial, ...]:
        """Trials that were better than the best in the search, but not when confirmed."""
        standing = self.standing
        numbers = standing.refused if standing is not None else ()
        return tuple(trial for number in numbers if (trial := self._trial(number)) is not None)

    def lineage(self, trial: Trial | None) -> list[int]:
        """Numbers of the trials from the root down to `trial`, by first parents (`Request.parents`), without a seed
        that failed; empty where there is none."""
        found: dict[int, None] = {}
        while trial is not None and trial.number not in found and not trial.is_failed_seed:
            found[trial.number] = None
            parents = trial.request.parents
            trial = self.by_number.get(parents[0]) if parents else None
        return [*found][::-1]

    @property
    def shown(self) -> Trial | None:
        """The best trial; until there is one, the leading one."""
        return self.best or self.leader

    def figure(self, trial: Trial | None) -> Evaluation | None:
        """The evaluation whose numbers may be reported: the confirmation's for the best trial; None without a trial."""
        if trial is None:
            return None
        return self.confirmed.get(trial.number, trial.evaluation) if trial is self.best else trial.evaluation

    def _trial(self, number: int | None) -> Trial | None:
        return self.by_number.get(number) if number is not None else None


def _grouped(pairs: Iterable[tuple[int, Trial]]) -> dict[int, tuple[Trial, ...]]:
    found: dict[int, list[Trial]] = {}
    for number, trial in pairs:
        found.setdefault(number, []).append(trial)
    return {number: tuple(trials) for number, trials in found.items()}


def read_run(journal: Journal) -> RunView:
    """Read everything in `journal` now; blobs are read on demand, so keep it open meanwhile."""
    return view_of(journal.folder, journal.info, fold(journal.history()), journal.blob)


def view_of(
    folder: Path, info: RunInfo, state: RunState, blob: Callable[[str], str], trials: Iterable[Trial] | None = None
) -> RunView:
    """What the state is now. trials: by number, of a view that has no others; None: all that are finished."""
    seen = tuple(state.finished() if trials is None else trials)
    numbers = [trial.number for trial in seen]
    return RunView(
        folder=folder,
        info=info,
        trials=seen,
        confirmed=dict(state.confirmations),
        open_requests=tuple(state.requests[number] for number in state.open_numbers() if number not in state.done),
        sessions=tuple(state.sessions),
        blob=blob,
        finished_s={number: state.finished_s[number] for number in numbers},
        profiles={number: state.profiled[number] for number in numbers if number in state.profiled},
        beside=tuple(state.paid_beside()),
        lanes=copy.deepcopy(state.lanes),
    )


def source_of(trial: Trial) -> str | None:
    """The candidate's text with its config written in, ready to use; None where there was no candidate."""
    candidate = trial.proposal.candidate
    return None if candidate is None else apply_config(candidate.source, candidate.config)


def judged_source_of(trial: Trial, view: RunView) -> str | None:
    """The text that was judged, as `source_of` where it is the candidate's own. The confirmation judged more cases."""
    for evaluation in (view.confirmed.get(trial.number), trial.evaluation):
        if evaluation is not None and evaluation.status is Status.PASSED:
            return evaluation.judged_source or source_of(trial)
    return source_of(trial)


def share_of_bound(evaluation: Evaluation, cases: tuple[CaseInfo, ...]) -> float | None:
    """Geometric mean over the timed cases of bound over time; None where nothing was measured.

    A confirmation times held-out cases, too; like the score, the share leaves them out.
    """
    bounds_us = {info.case.name: info.bound.bound_us for info in cases if info.case.timed}
    shares = [
        bounds_us[result.case] / result.timing.median_us
        for result in evaluation.results
        if result.timing is not None
        and result.timing.kind == "measured"
        and bounds_us.get(result.case)
        and result.timing.median_us > 0
    ]
    return geometric_mean(shares) if shares else None
