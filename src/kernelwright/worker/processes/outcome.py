"""Exceptions by which a stage ends an evaluation early, with a status and a reason. `evaluate` turns them into data."""

from __future__ import annotations

from kernelwright.model import Status
from kernelwright.text.escape import legible


class Ended(Exception):
    """The evaluation, or one case of it, ended with this status. whole: it ends the evaluation, not only one case."""

    def __init__(self, status: Status, reason: str, lost: bool = False, whole: bool = False) -> None:
        """lost: a process that ran code of the candidate died. It may have been killed from outside, so the evaluation
        is repeated once before the candidate is blamed. A lost process always ends the whole evaluation."""
        super().__init__(reason)
        self.status, self.reason, self.lost, self.whole = status, legible(reason), lost, whole or lost


class Killed(Ended):
    """A compiler was killed twice, perhaps for want of memory: the candidate was not judged."""


class TooLargeFor(Ended):
    """A launch needs more of a resource than the device has. kernel: its name."""

    def __init__(self, kernel: str, reason: str) -> None:
        super().__init__(Status.COMPILE_ERROR, reason)
        self.kernel = kernel
