"""Exceptions by which a stage ends an evaluation early, with a status and a reason. `evaluate` turns them into data."""

from __future__ import annotations

from kernelwright.model import Evaluation, Status
from kernelwright.text.escape import legible


class Stopped(Exception):
    """A stage ended early, with this status."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, legible(reason)


class Ended(Stopped):
    """The evaluation, or one case of it, ended. whole: it ends the evaluation, not only one case."""

    def __init__(self, status: Status, reason: str, whole: bool = False) -> None:
        super().__init__(status, reason)
        self.whole = whole


class Lost(Stopped):
    """A process that ran code of the candidate died. It may have been killed from outside, so the evaluation is
    repeated once before the candidate is blamed. evaluation: with what was found before."""

    evaluation: Evaluation | None = None


class Killed(Ended):
    """A compiler was killed twice, perhaps for want of memory: the candidate was not judged."""


class Excluded(Ended):
    """A `static_assert` of a kernel excludes the sizes of a case."""


class TooLargeFor(Ended):
    """A launch needs more of a resource than the device has. kernel: its name."""

    def __init__(self, kernel: str, reason: str) -> None:
        super().__init__(Status.COMPILE_ERROR, reason)
        self.kernel = kernel
