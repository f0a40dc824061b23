"""Early end of an evaluation by a stage: a status and a reason, raised and turned into data by `evaluate`."""

from __future__ import annotations

from kernelwright.model import Status
from kernelwright.text.escape import legible


class Ended(Exception):
    """The evaluation (or one case of it) is over, with this status. whole: never one case alone."""

    def __init__(self, status: Status, reason: str, lost: bool = False, whole: bool = False) -> None:
        """lost: because a process ended that ran something of the candidate. It may have been killed from outside, so
        the evaluation is tried again before the candidate is blamed."""
        super().__init__(reason)
        self.status, self.reason, self.lost, self.whole = status, legible(reason), lost, whole or lost


class TooLargeFor(Ended):
    """A launch needs more than the device has. kernel: its name."""

    def __init__(self, kernel: str, reason: str) -> None:
        super().__init__(Status.COMPILE_ERROR, reason)
        self.kernel = kernel
