"""Changes of a lane's state. A lane is the worker on one of several GPUs that a run uses."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record


class LaneChange(Record, frozen=True, kw_only=True):
    """A change of a lane's state. lane: its name, as in `Evaluation.lane`. what: "up": its worker is ready, also after
    a loss. "lost": its worker is gone. "quarantined": it was lost too often and is not used for some time. "left out":
    it failed at something that the other lanes can do, and is not used again.

    device, gpu, host: for "up", where the lane is. evaluations: for "lost", number of running evaluations; seconds: how
    long they had run, an upper limit of the lost GPU time.
    """

    lane: str
    what: Literal["up", "lost", "quarantined", "left out"]
    reason: str = ""
    device: str | None = None
    gpu: str = ""
    host: str = ""
    evaluations: int = 0
    seconds: float = 0.0
