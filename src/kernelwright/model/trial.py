"""One step of a search: what was asked, what came back, and what it was worth; and the best so far of many steps."""

from __future__ import annotations

from kernelwright.model.base import Record
from kernelwright.model.evaluation import Evaluation, Status
from kernelwright.model.proposal import Candidate, Proposal, Request


class Incumbent(Record, frozen=True, kw_only=True):
    """The best candidate so far, which later ones race against. times_us: its median in the run, by timed case."""

    candidate: Candidate
    times_us: dict[str, float]


def incumbent_of(candidate: Candidate, evaluation: Evaluation) -> Incumbent:
    """A candidate that passed, by the times of its evaluation."""
    times_us = {result.case: result.timing.median_us for result in evaluation.results if result.timing is not None}
    return Incumbent(candidate=candidate, times_us=times_us)


def may_lead(evaluation: Evaluation) -> bool:
    """Whether later candidates may race against it: it was timed alone, or surely faster than what it raced against on
    some case. With a tie that was lucky as the next measure, luck would add up from one race to the next."""
    gained = [result.timing.gained for result in evaluation.results if result.timing is not None]
    return any(gained) or all(one is None for one in gained)


class Trial(Record, frozen=True, kw_only=True):
    """Request, proposal and evaluation under one number. evaluation is None where the proposal was an error."""

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
    def score_us(self) -> float | None:
        """Lower is better; None unless it passed."""
        return self.evaluation.score_us if self.passed and self.evaluation is not None else None
