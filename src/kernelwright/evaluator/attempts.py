"""Running attempts of a fleet's jobs: the lane, start time and deadline of each. The caller passes the clock time."""

from __future__ import annotations

from dataclasses import dataclass

ANSWER_S = 900.0
"""Time limit of an evaluation that is alone on a lane. With n jobs on the lane the limit is n times this. The longest
limit of a single stage is 600 s (`worker.processes.limits`), and the other stages take honest candidates some minutes.
"""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a job. due_s: time from which it is overdue; None: no limit."""

    lane: str
    began_s: float
    due_s: float | None


@dataclass(frozen=True)
class LostAttempts:
    """Work lost with a lane. count: attempts that have to be repeated. seconds: since the first of them began, so an
    upper limit of the lost GPU time."""

    count: int = 0
    seconds: float = 0.0


class Attempts:
    """The running attempts, by job number. A job has at most one at a time."""

    def __init__(self) -> None:
        self._under_way: dict[int, Attempt] = {}

    def begin(self, job: int, lane: str, now_s: float, answer_s: float | None, at_once: int) -> None:
        """answer_s: time limit for a job alone on a lane; None: no limit. at_once: jobs on the lane, including this
        one."""
        due_s = None if answer_s is None else now_s + answer_s * at_once
        self._under_way[job] = Attempt(lane, now_s, due_s)

    def end(self, job: int) -> None:
        self._under_way.pop(job, None)

    def overdue(self, lane: str, now_s: float) -> list[int]:
        return [job for job, one in self._of(lane).items() if one.due_s is not None and now_s >= one.due_s]

    def lose(self, lane: str, now_s: float) -> LostAttempts:
        """Remove the attempts of a lost lane, and return their number and duration."""
        lost = self._of(lane)
        for job in lost:
            del self._under_way[job]
        return LostAttempts(len(lost), now_s - min((one.began_s for one in lost.values()), default=now_s))

    def _of(self, lane: str) -> dict[int, Attempt]:
        return {job: one for job, one in self._under_way.items() if one.lane == lane}
