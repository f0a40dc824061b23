"""Statistics of each lane from a run's events: its place, its evaluations, and its losses."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.model import Evaluation, LaneChange
from kernelwright.search.convergence import gpu_s


@dataclass
class LaneTally:
    """Statistics of one lane. state: after the last change. gpu_s: GPU time of its evaluations. losses: number of lost
    workers. lost_s: time of evaluations that had to be repeated, an upper limit. since_s: work time of the run when the
    lane first came up in the current session; None outside a session. before_s: time with the lane in earlier
    sessions."""

    name: str
    state: str = "up"
    device: str | None = None
    gpu: str = ""
    host: str = ""
    evaluations: int = 0
    gpu_s: float = 0.0
    losses: int = 0
    lost_s: float = 0.0
    since_s: float | None = None
    before_s: float = 0.0

    def here_s(self, at_work_s: float) -> float:
        """How long the run has had this lane: in each session from when it first came up to the end of the session.
        at_work_s: work time of the run now."""
        return self.before_s + (max(0.0, at_work_s - self.since_s) if self.since_s is not None else 0.0)


class LaneTallies(dict[str, LaneTally]):
    """Statistics by lane name, in the order in which the lanes came up. Empty for a run with a single worker."""

    def take(self, change: LaneChange, at_work_s: float) -> None:
        lane = self.setdefault(change.lane, LaneTally(change.lane))
        lane.state = change.what
        if change.what == "up":
            lane.device, lane.gpu, lane.host = change.device, change.gpu, change.host
        if change.what == "lost":
            lane.losses += 1
            lane.lost_s += change.seconds
        if lane.since_s is None:
            lane.since_s = at_work_s

    def note(self, evaluation: Evaluation) -> None:
        if evaluation.lane:
            lane = self.setdefault(evaluation.lane, LaneTally(evaluation.lane))
            lane.evaluations += 1
            lane.gpu_s += gpu_s(evaluation)

    def end_session(self, at_work_s: float) -> None:
        for lane in self.values():
            lane.before_s, lane.since_s = lane.here_s(at_work_s), None

    @property
    def lost_s(self) -> float:
        return sum(lane.lost_s for lane in self.values())
