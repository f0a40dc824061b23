"""One step of a search: what was asked, what came back, and what it was worth."""

from __future__ import annotations

from kernelwright.model.base import Record
from kernelwright.model.evaluation import Evaluation, Status
from kernelwright.model.proposal import Proposal, Request


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
