"""What happens to a lane: a worker on one GPU of several that a run uses."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record


class LaneChange(Record, frozen=True, kw_only=True):
    """lane: its name, as evaluations have it. what: "up" once its worker is ready, also after a loss; "quarantined"
    where it was lost too often and is left alone for a while; "left out" where it cannot do what the others can.

    device, gpu, host: where it is, of one that is up. evaluations: what it had under way when it was lost; seconds: for
    how long, which is the most that this took of its GPU.
    """

    lane: str
    what: Literal["up", "lost", "quarantined", "left out"]
    reason: str = ""
    device: str | None = None
    gpu: str = ""
    host: str = ""
    evaluations: int = 0
    seconds: float = 0.0
