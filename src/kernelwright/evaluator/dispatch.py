"""Which lane does which job next, and what follows when a lane is lost: a state machine without processes and clocks.

A job is done at least once and its result taken once. When a lane is lost its jobs are suspects: each is done once
more, on another lane where there is one, and alone on it, so that a second loss names the job that caused it. Lanes
that are lost at about the same time under different jobs have another cause, and blame none. A lane that was lost too
often without much work in between is out, until it is let in again.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

LOST_TWICE = 2
"""Lanes lost under one job until it is blamed."""

MOST_LOSSES = 3
"""Losses and failed starts of a lane until it is out."""

TOGETHER_S = 10.0
"""Lanes that are lost within it share a cause: their host, network or driver."""

MOST_EXCUSED = 2
"""Losses that may be excused of one job because another lane was lost at about the same time. Without a limit two
candidates that take lanes down could excuse each other until no lane is left."""

RECOVERED = 10
"""Jobs that a lane finishes until its earlier losses are forgotten: a run of hours may meet three rare faults."""


class Where(enum.Enum):
    """On which lanes a job may be done."""

    HOME = "home"
    """The one lane whose times may be compared as they are."""
    ANY = "any"


@dataclass
class Lane:
    """ready: up, with the problem loaded. losses: of it lately; works: jobs that it finished since the last. is_unfit:
    it cannot do what others can, now or later."""

    jobs: set[int] = field(default_factory=set)
    ready: bool = False
    losses: int = 0
    works: int = 0
    is_unfit: bool = False

    @property
    def is_out(self) -> bool:
        return self.is_unfit or self.losses >= MOST_LOSSES


@dataclass
class Job:
    """lane: where it is under way. lost_on: the lanes that were lost under it, without those that were asked to end.
    excused: those of them that were lost at about the same time as others."""

    where: Where
    prefers: str | None = None
    lane: str | None = None
    lost_on: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)

    @property
    def is_suspect(self) -> bool:
        return bool(self.lost_on)

    @property
    def is_to_blame(self) -> bool:
        return len(self.lost_on) - len(self.excused) >= LOST_TWICE

    def excuse(self, lane: str) -> None:
        if len(self.excused) < MOST_EXCUSED and self.lost_on.count(lane) > self.excused.count(lane):
            self.excused.append(lane)


@dataclass(frozen=True)
class Loss:
    """The loss of a lane that was ready. jobs: those that it was doing."""

    lane: str
    at_s: float
    jobs: frozenset[int]


class Dispatch:
    """lanes: by name, in the order in which they were named. home: the lane of `Where.HOME`; None before any is ready,
    and from its loss until a job needs it."""

    def __init__(self, names: Iterator[str] | list[str]) -> None:
        self.lanes = {name: Lane() for name in names}
        self.jobs: dict[int, Job] = {}
        self.home: str | None = None
        self._next = 0
        self._lately: list[Loss] = []

    @property
    def is_hopeless(self) -> bool:
        """Whether no lane is left that may do a job."""
        return all(lane.is_out for lane in self.lanes.values())

    # --- what happens ------------------------------------------------------------------------------------------

    def up(self, name: str) -> None:
        """A lane is ready; the first one is home."""
        self.lanes[name].ready = True
        if not any(lane.losses for lane in self.lanes.values()):
            self.home = self.home or name

    def down(self, name: str) -> None:
        """Give a lane no more jobs while it loads something; the jobs that it has go on."""
        self.lanes[name].ready = False

    def submit(self, where: Where, prefers: str | None = None) -> int:
        """A new job. prefers: the lane that has begun it already, by compiling it."""
        self._next += 1
        self.jobs[self._next] = Job(where, prefers)
        return self._next

    def finished(self, job: int) -> None:
        """A job has its result, or its caller no longer waits for one."""
        found = self.jobs.pop(job, None)
        if found is None or found.lane is None:
            return
        lane = self.lanes[found.lane]
        lane.jobs.discard(job)
        lane.works += 1
        if lane.works >= RECOVERED:
            lane.losses = 0

    def lost(
        self, name: str, at_s: float, from_outside: bool = False, overdue: Collection[int] | None = None
    ) -> list[int]:
        """A lane is gone, or did not start. Its jobs wait again, without those that are to blame, which are returned.

        at_s: on a clock that never goes back. from_outside: it was asked to end, so none of its jobs can be the cause.
        overdue: the jobs for which it was ended, so no other one can be; None where it ended by itself.
        """
        lane = self.lanes[name]
        was_up = lane.ready or bool(lane.jobs)
        lane.ready, lane.works, lane.losses = False, 0, lane.losses + 1
        if self.home == name:
            self.home = None
        jobs, lane.jobs = sorted(lane.jobs), set()
        suspects = [job for job in jobs if not from_outside and (overdue is None or job in overdue)]
        for job in jobs:
            self.jobs[job].lane = self.jobs[job].prefers = None
        for job in suspects:
            self.jobs[job].lost_on.append(name)
        if was_up and overdue is None:
            self._compare(Loss(name, at_s, frozenset(jobs)), suspects)
        blamed = [job for job in suspects if self.jobs[job].is_to_blame]
        for job in blamed:
            for one in self.jobs.pop(job).lost_on:
                self.lanes[one].losses = max(0, self.lanes[one].losses - 1)
        return blamed

    def _compare(self, loss: Loss, suspects: list[int]) -> None:
        """Excuse the jobs of lanes that were lost at about the same time, unless one job was on both."""
        self._lately = [one for one in self._lately if loss.at_s - one.at_s <= TOGETHER_S]
        together = [one for one in self._lately if one.lane != loss.lane and not one.jobs & loss.jobs]
        self._lately.append(loss)
        for earlier in together:
            for job in earlier.jobs & self.jobs.keys():
                self.jobs[job].excuse(earlier.lane)
        for job in suspects if together else ():
            self.jobs[job].excuse(loss.lane)

    def leave_out(self, name: str, at_s: float) -> None:
        """Use a lane no more, because it cannot do what other lanes can. Its jobs wait again, and none is to blame."""
        self.lost(name, at_s, from_outside=True)
        self.lanes[name].is_unfit = True

    def let_in(self, name: str) -> None:
        """A lane that is out may start again; the next loss before it has recovered ends that."""
        self.lanes[name].losses = MOST_LOSSES - 1

    def starts(self) -> list[tuple[int, str]]:
        """Jobs that begin now, with their lanes. Suspects go first: a lane that is meant for one gets no other job."""
        found = []
        waiting = [job for job, one in self.jobs.items() if one.lane is None]
        meant: set[str] = set()
        for job in sorted(waiting, key=lambda job: (not self.jobs[job].is_suspect, job)):
            lane = self._lane_for(self.jobs[job], meant)
            if lane is None:
                continue
            if self.jobs[job].is_suspect:
                meant.add(lane)
                if self.lanes[lane].jobs:
                    continue  # it drains
            self.jobs[job].lane = lane
            self.lanes[lane].jobs.add(job)
            found.append((job, lane))
        return found

    # --- which lane --------------------------------------------------------------------------------------------

    def _lane_for(self, job: Job, meant: set[str]) -> str | None:
        ready = [name for name, lane in self.lanes.items() if lane.ready and not self._is_taken(name, meant)]
        if job.where is Where.HOME and self.home is not None:
            return self.home if self.home in ready else None
        if job.is_suspect:
            others = [name for name, lane in self.lanes.items() if not lane.is_out and name not in job.lost_on]
            ready = [name for name in ready if name in others or not others]
        chosen = min(ready, key=lambda name: (name != job.prefers, len(self.lanes[name].jobs)), default=None)
        if job.where is Where.HOME:
            self.home = chosen
        return chosen

    def _is_taken(self, name: str, meant: set[str]) -> bool:
        """Whether a lane is kept for one suspect alone."""
        return name in meant or any(self.jobs[job].is_suspect for job in self.lanes[name].jobs)
