"""Follow-up requests of a trial (repairs, tunings) and the gain that its operator is credited with.

A structure is a source that no trial had before and that compiles to code no trial had before. It is judged only after
at least as many tunings as its parents had, so that well-tuned numbers are not mistaken for a better idea. Choosing
parents and operators is the strategy's part.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from kernelwright.model import Operator, Trial
from kernelwright.search.portfolio import Portfolio
from kernelwright.search.protocol import Step
from kernelwright.search.ranking import beats, distinct, identity, is_repairable, rank, ranked

FURTHER = 4
"""The portfolio tunes a structure at most this many times `tuning`: tunings are not counted as trials, so another limit
has to end them. A sampler gains little after 16 configs (docs/searching.md)."""

LEAST = 0.01
"""Smallest relative change of an estimate that counts: the formula (`roofline.estimate_us`) is coarser than that."""


@dataclass
class Structure:
    """A source with all its trials, which differ only in config.

    best: the fastest of these trials. before: the trial it has to beat, None where no parent passed. effort: tunings it
    gets before it is judged. tuned: tunings it had so far. children: trials that were written from it. exhausted: the
    proposer has no other config for it, or the last one did not move its estimate.
    """

    operator: Operator
    best: Trial
    before: Trial | None
    effort: int
    tuned: int = 0
    children: int = 0
    judged: bool = False
    exhausted: bool = False


class Judging:
    def __init__(self, portfolio: Portfolio, repairs: int, tuning: int, selective: bool) -> None:
        """repairs: maximum number of repairs per candidate. tuning: minimum effort for a structure. selective: stop
        repairing once the portfolio gives up the operator `repair`."""
        self._portfolio = portfolio
        self._repairs = repairs
        self._tuning = tuning
        self._selective = selective
        self._kernels: list[Trial] = []
        """The best trial of each compiled kernel, best first."""
        self._by_kernel: dict[str, Trial] = {}
        """The same by identity."""
        self._structures: list[Structure] = []
        self._by_source: dict[str, Structure] = {}
        self._by_code: dict[str, Structure] = {}
        self._by_number: dict[int, Structure] = {}
        self._repairs_before: dict[int, int] = {}
        self._best: list[Trial] | None = None
        """Cached result of `best_first` where it orders structures; None after a trial that may change it."""

    def tell(self, trial: Trial) -> Step | None:
        """The follow-up request that this trial leads to; None where there is none."""
        request = trial.request
        if request.operator is Operator.TUNE:
            return self._tuned(trial, self._by_number[request.parents[0]])
        if request.parents[:1] and request.parents[0] in self._by_number:
            self._by_number[request.parents[0]].children += 1
            self._best = None
        if trial.score_us is None or trial.proposal.candidate is None:
            return self._failed(trial)
        before = self._best_parent(trial)
        source = " ".join(trial.proposal.candidate.source.split())
        known = self._by_source.get(source) or self._by_code.get(identity(trial))
        if known is not None:
            self._gain(request.operator, trial, before)
            self._add(trial, known)
            return None
        efforts = [self._by_number[number].effort for number in request.parents if number in self._by_number]
        structure = Structure(request.operator, trial, before, max([self._tuning, *efforts]))
        self._by_source[source] = structure
        self._structures.append(structure)
        self._add(trial, structure)
        return self._next_tuning(structure)

    def best_first(self) -> list[Trial]:
        """Kernels that really differ, best first. Where structures are tuned, only the best trial of each structure.

        Estimates do not compare structures: those that fewer trials were written from come first then.
        """
        estimated = len(self._structures) > 1 and is_estimated(self._structures[0].best)
        if self._tuning == 0 and not estimated:
            return self._kernels
        if self._best is None:
            found = sorted(self._structures, key=lambda one: (estimated * one.children, rank(one.best)))
            self._best = distinct(one.best for one in found)
        return self._best

    def can_tune(self, trial: Trial) -> bool:
        """Whether a structure may be tuned further, after it was judged. Never where `tuning` is 0."""
        structure = self._by_number[trial.number]
        return not structure.exhausted and structure.tuned < FURTHER * self._tuning

    def _failed(self, trial: Trial) -> Step | None:
        repairs = self._repairs_before.get(trial.number, 0)
        if not is_repairable(trial) or repairs >= self._repairs:
            return None
        if self._selective and self._portfolio.gives_up(Operator.REPAIR):
            return None
        request = trial.request
        origin = request.parents[1:] if request.operator is Operator.REPAIR else request.parents[:1]
        return Step(Operator.REPAIR, (trial.number, *origin))

    def repair_asked(self, failed: int, repair: int) -> None:
        """Record that request `repair` was made to repair trial `failed`."""
        self._repairs_before[repair] = self._repairs_before.get(failed, 0) + 1

    def _tuned(self, trial: Trial, structure: Structure) -> Step | None:
        structure.tuned += 1
        structure.effort = max(structure.effort, structure.tuned)
        structure.exhausted = trial.proposal.candidate is None or is_unmoved(structure.best, trial)
        if structure.judged:
            self._gain(Operator.TUNE, trial, structure.best)
        if trial.score_us is not None:
            self._add(trial, structure)
        return None if structure.judged else self._next_tuning(structure)

    def _next_tuning(self, structure: Structure) -> Step | None:
        if structure.tuned < structure.effort and not structure.exhausted:
            return Step(Operator.TUNE, (structure.best.number,))
        structure.judged = True
        # All that is known of a new structure with an estimated time is that it passed.
        self._gain(structure.operator, structure.best, None if is_estimated(structure.best) else structure.before)
        return None

    def _add(self, trial: Trial, structure: Structure) -> None:
        self._best = None
        known = self._by_kernel.get(identity(trial))
        if known is None or rank(trial) < rank(known):
            if known is not None:
                del self._kernels[bisect.bisect_left(self._kernels, rank(known), key=rank)]
            self._by_kernel[identity(trial)] = trial
            bisect.insort(self._kernels, trial, key=rank)
        self._by_number[trial.number] = structure
        self._by_code.setdefault(identity(trial), structure)
        structure.best = ranked([structure.best, trial])[0]

    def _best_parent(self, trial: Trial) -> Trial | None:
        """The best trial so far among the structures of its parents; None where no parent passed."""
        parents = [self._by_number[number] for number in trial.request.parents if number in self._by_number]
        return next(iter(ranked(structure.best for structure in parents)), None)

    def _gain(self, operator: Operator, trial: Trial, before: Trial | None) -> None:
        if trial.evaluation is None:
            return
        if before is None or (before.evaluation is not None and beats(trial.evaluation, before.evaluation)):
            self._portfolio.gained(operator)


def is_unmoved(before: Trial, after: Trial) -> bool:
    """Whether another config left the estimated time as it was: then further configs say nothing either."""
    if before.score_us is None or after.score_us is None or not is_estimated(after):
        return False
    return abs(after.score_us - before.score_us) < LEAST * before.score_us


def is_estimated(trial: Trial) -> bool:
    return trial.evaluation is not None and trial.evaluation.timing_kind == "estimate"
