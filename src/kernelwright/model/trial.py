"""A trial: one request of a search with its proposal and evaluation; and the incumbent, the best candidate so far."""

from __future__ import annotations

from kernelwright.model.base import Record
from kernelwright.model.evaluation import Evaluation, Status
from kernelwright.model.proposal import Candidate, Operator, Proposal, Request


class Incumbent(Record, frozen=True, kw_only=True):
    """The best candidate so far, which later ones race. times_us: its median in the run, by timed case."""

    candidate: Candidate
    times_us: dict[str, float]


def incumbent_of(candidate: Candidate, evaluation: Evaluation) -> Incumbent:
    """The incumbent record of a passed candidate, with the times of its evaluation."""
    return Incumbent(candidate=candidate, times_us=evaluation.times_us)


def may_lead(evaluation: Evaluation) -> bool:
    """Whether a candidate may become the incumbent: it was timed alone, or was significantly faster than its opponent
    on at least one case. If a lucky tie could become the incumbent, luck would accumulate from race to race."""
    gained = [result.timing.gained for result in evaluation.results if result.timing is not None]
    return any(gained) or all(one is None for one in gained)


class Trial(Record, frozen=True, kw_only=True):
    """Request, proposal and evaluation under one number. evaluation is None if there is none, as for an error."""

    request: Request
    proposal: Proposal
    evaluation: Evaluation | None = None

    @property
    def number(self) -> int:
        return self.request.number

    @property
    def passed(self) -> bool:
        return self.evaluation is not None and self.evaluation.status is Status.PASSED

    @property
    def is_failed_seed(self) -> bool:
        """Whether it is a first kernel that did not pass. Nothing is compared with it or shown as a change of it."""
        return self.request.operator is Operator.SEED and not self.passed

    @property
    def score_us(self) -> float | None:
        """Lower is better; None unless the candidate passed."""
        return self.evaluation.score_us if self.passed and self.evaluation is not None else None
