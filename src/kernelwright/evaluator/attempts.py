"""What each lane of a fleet has under way, since when, and by when an answer is due. The caller brings the clock."""

from __future__ import annotations

from dataclasses import dataclass

ANSWER_S = 900.0
"""For an evaluation that is alone on a lane, as many times longer as others are there: the longest limit of a single
stage is 600 s (`worker.processes.limits`), and what honest candidates take beside it is some minutes."""


@dataclass(frozen=True)
class Attempt:
    """due_s: when it is overdue; None: it has no limit."""

    lane: str
    began_s: float
    due_s: float | None


@dataclass(frozen=True)
class LostAttempts:
    """seconds: for which a lane worked at something that has to be done again; of its GPU they are the most."""

    count: int = 0
    seconds: float = 0.0


class Attempts:
    """The attempts under way, by job. A job has one at a time."""

    def __init__(self) -> None:
        self._under_way: dict[int, Attempt] = {}

    def begin(self, job: int, lane: str, now_s: float, answer_s: float | None, at_once: int) -> None:
        """at_once: the jobs that the lane has now, with this one."""
        due_s = None if answer_s is None else now_s + answer_s * at_once
        self._under_way[job] = Attempt(lane, now_s, due_s)

    def end(self, job: int) -> None:
        self._under_way.pop(job, None)

    def overdue(self, lane: str, now_s: float) -> list[int]:
        return [job for job, one in self._of(lane).items() if one.due_s is not None and now_s >= one.due_s]

    def lose(self, lane: str, now_s: float) -> LostAttempts:
        """Forget the attempts of a lane that was lost, and return how many they were and for how long."""
        lost = self._of(lane)
        for job in lost:
            del self._under_way[job]
        return LostAttempts(len(lost), now_s - min((one.began_s for one in lost.values()), default=now_s))

    def _of(self, lane: str) -> dict[int, Attempt]:
        return {job: one for job, one in self._under_way.items() if one.lane == lane}
