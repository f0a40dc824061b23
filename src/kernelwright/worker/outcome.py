"""How a stage ends an evaluation before its time: a status and a reason, raised and turned into data by `evaluate`."""

from __future__ import annotations

from typing import Any

from kernelwright.legible import legible
from kernelwright.model import Status


class Ended(Exception):
    """The evaluation (or one case of it) is over, with this status. whole: never one case alone."""

    def __init__(self, status: Status, reason: str, lost: bool = False, whole: bool = False) -> None:
        """lost: because a process ended that ran something of the candidate. It may have been killed from outside, so
        the evaluation is tried again before the candidate is blamed."""
        super().__init__(reason)
        self.status, self.reason, self.lost, self.whole = status, legible(reason), lost, whole or lost


def failure(answer: dict[str, Any]) -> Ended:
    """How a compiler or a bench says that its work ended. It may execute a candidate's text, so what it says is a
    failure whatever it claims, never a pass."""
    said = answer.get("status")
    failures = [status for status in Status if status is not Status.PASSED]
    status = next((status for status in failures if status.value == said), Status.REJECTED)
    return Ended(status, str(answer.get("reason", "it gave no reason"))[:1500], whole=answer.get("whole") is True)
