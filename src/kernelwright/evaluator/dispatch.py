"""The dispatcher of a fleet: assigns jobs to lanes and handles lost lanes, as a state machine without processes.

A job runs at least once, and one result of it is used. The jobs of a lost lane become suspects. Each suspect runs
again, on another lane if there is one, and alone on that lane, so that a second loss identifies the job that caused it.
If several lanes are lost at about the same time under different jobs, an external cause is assumed and no job is
blamed. A lane that was lost too often without much work in between is out (it gets no jobs) until it is let in again.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

LOST_TWICE = 2
"""Number of lanes lost under a job after which the job is blamed."""

MOST_LOSSES = 3
"""Number of losses and failed starts of a lane after which it is out."""

TOGETHER_S = 10.0
"""Lanes lost within this time of each other are taken to share a cause, such as their host, network or driver."""

MOST_EXCUSED = 2
"""Largest number of losses that a job is excused from because another lane was lost at about the same time. Without a
limit, two candidates that crash lanes could excuse each other until no lane is left."""

RECOVERED = 10
"""After this number of finished jobs a lane's losses are reset to 0: a run of hours may meet three rare faults."""


class Where(enum.Enum):
    """On which lanes a job may run."""

    HOME = "home"
    """Only the home lane: absolute times are comparable only within one lane."""
    ANY = "any"
    """Any ready lane."""


@dataclass
class Lane:
    """State of a lane. ready: started, with the problem loaded. losses: recent losses and failed starts. works: jobs
    finished since the last loss. is_unfit: the lane failed at something that other lanes can do, and stays out."""

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
    """State of a job. prefers: the lane that has compiled it already. lane: where the job runs now. lost_on: lanes lost
    under the job, without lanes that were asked to end. excused: those in lost_on that were lost at about the same time
    as other lanes."""

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
    """The loss of a lane that was up. jobs: the jobs that ran on it."""

    lane: str
    at_s: float
    jobs: frozenset[int]


class Dispatch:
    """The dispatcher. lanes: by name, in the order in which they were given. home: the lane for jobs with `Where.HOME`;
    None before any lane is ready, and after its loss until a job needs a home lane."""

    def __init__(self, names: Iterator[str] | list[str]) -> None:
        self.lanes = {name: Lane() for name in names}
        self.jobs: dict[int, Job] = {}
        self.home: str | None = None
        self._next = 0
        self._lately: list[Loss] = []

    @property
    def is_hopeless(self) -> bool:
        """Whether every lane is out."""
        return all(lane.is_out for lane in self.lanes.values())

    # --- what happens ------------------------------------------------------------------------------------------

    def up(self, name: str) -> None:
        """A lane is ready; the first ready lane becomes the home lane."""
        self.lanes[name].ready = True
        if not any(lane.losses for lane in self.lanes.values()):
            self.home = self.home or name

    def down(self, name: str) -> None:
        """Assign no more jobs to a lane while it loads something; its running jobs continue."""
        self.lanes[name].ready = False

    def submit(self, where: Where, prefers: str | None = None) -> int:
        """Add a job and return its number. prefers: the lane that has compiled its candidate already."""
        self._next += 1
        self.jobs[self._next] = Job(where, prefers)
        return self._next

    def finished(self, job: int) -> None:
        """Remove a job that has its result, or whose caller no longer waits for one."""
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
        """A lane was lost or did not start. Its jobs wait for a lane again, except the blamed jobs: these are returned.

        at_s: time on a monotonic clock. from_outside: the cause was external, so no job can be to blame. overdue: the
        jobs for whose delay the lane was ended, so no other job can be to blame; None if the lane ended by itself.
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
        """Excuse the jobs of different lanes that were lost at about the same time, unless one job ran on both."""
        self._lately = [one for one in self._lately if loss.at_s - one.at_s <= TOGETHER_S]
        together = [one for one in self._lately if one.lane != loss.lane and not one.jobs & loss.jobs]
        self._lately.append(loss)
        for earlier in together:
            for job in earlier.jobs & self.jobs.keys():
                self.jobs[job].excuse(earlier.lane)
        for job in suspects if together else ():
            self.jobs[job].excuse(loss.lane)

    def leave_out(self, name: str, at_s: float) -> None:
        """Stop using a lane, because it failed at something that other lanes can do. Its jobs wait for a lane again,
        and none is blamed."""
        self.lost(name, at_s, from_outside=True)
        self.lanes[name].is_unfit = True

    def let_in(self, name: str) -> None:
        """Let a lane that is out start again. One more loss before `RECOVERED` jobs are finished puts it out again."""
        self.lanes[name].losses = MOST_LOSSES - 1

    def starts(self) -> list[tuple[int, str]]:
        """Assign waiting jobs to lanes; return the jobs that begin now, with their lanes. Suspects go first: a lane
        that is reserved for a suspect gets no other job."""
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
                    continue  # wait until the lane's other jobs are finished
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
        """Whether a lane is reserved for a suspect or runs one."""
        return name in meant or any(self.jobs[job].is_suspect for job in self.lanes[name].jobs)
