"""Follow-ups of a trial and the gain of its operator: repairs, tunings, then a gain or none.

It does not choose parents or operators (a strategy does). A new structure (a source that no trial had
before, compiled to code that none had) is judged only after as many tunings as its parents had, so that good numbers
are not taken for a good idea.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from kernelwright.model import Operator, Trial
from kernelwright.search.portfolio import Portfolio
from kernelwright.search.protocol import Step
from kernelwright.search.ranking import beats, distinct, identity, is_repairable, rank, ranked


@dataclass
class Structure:
    """A source with all its trials, which differ in config. best: of them. effort: tunings it gets before it is
    judged; tuned: those it had. before: what it has to beat, None where no parent passed. exhausted: the proposer has
    no other config."""

    operator: Operator
    best: Trial
    before: Trial | None
    effort: int
    tuned: int = 0
    judged: bool = False
    exhausted: bool = False


class Judging:
    def __init__(self, portfolio: Portfolio, repairs: int, tuning: int, selective: bool) -> None:
        """repairs: the most for one candidate. tuning: the least effort for a structure. selective: repair only
        while the portfolio has not given that up."""
        self._portfolio = portfolio
        self._repairs = repairs
        self._tuning = tuning
        self._selective = selective
        self._passed: list[Trial] = []
        """Best first."""
        self._structures: list[Structure] = []
        self._by_source: dict[str, Structure] = {}
        self._by_code: dict[str, Structure] = {}
        self._by_number: dict[int, Structure] = {}
        self._repairs_before: dict[int, int] = {}
        self._best: list[Trial] | None = None
        """What `best_first` gave, until another trial passes."""

    def tell(self, trial: Trial) -> Step | None:
        """What is to be asked next because of this trial."""
        request = trial.request
        if request.operator is Operator.TUNE:
            return self._tuned(trial, self._by_number[request.parents[0]])
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
        """Kernels that are really different, best first; where structures are tuned, the best of each."""
        if self._best is None:
            tuned = self._tuning > 0
            self._best = distinct(ranked(one.best for one in self._structures) if tuned else self._passed)
        return self._best

    def can_tune(self, trial: Trial) -> bool:
        return not self._by_number[trial.number].exhausted

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
        """`repair` was asked for to repair `failed`."""
        self._repairs_before[repair] = self._repairs_before.get(failed, 0) + 1

    def _tuned(self, trial: Trial, structure: Structure) -> Step | None:
        structure.tuned += 1
        structure.effort = max(structure.effort, structure.tuned)
        structure.exhausted = trial.proposal.candidate is None
        if structure.judged:
            self._gain(Operator.TUNE, trial, structure.best)
        if trial.score_us is not None:
            self._add(trial, structure)
        return None if structure.judged else self._next_tuning(structure)

    def _next_tuning(self, structure: Structure) -> Step | None:
        if structure.tuned < structure.effort and not structure.exhausted:
            return Step(Operator.TUNE, (structure.best.number,))
        structure.judged = True
        self._gain(structure.operator, structure.best, structure.before)
        return None

    def _add(self, trial: Trial, structure: Structure) -> None:
        self._best = None
        bisect.insort(self._passed, trial, key=rank)
        self._by_number[trial.number] = structure
        self._by_code.setdefault(identity(trial), structure)
        structure.best = ranked([structure.best, trial])[0]

    def _best_parent(self, trial: Trial) -> Trial | None:
        """The best that its parents' structures have shown so far."""
        parents = [self._by_number[number] for number in trial.request.parents if number in self._by_number]
        return next(iter(ranked(structure.best for structure in parents)), None)

    def _gain(self, operator: Operator, trial: Trial, before: Trial | None) -> None:
        if trial.evaluation is None:
            return
        if before is None or (before.evaluation is not None and beats(trial.evaluation, before.evaluation)):
            self._portfolio.gained(operator)
