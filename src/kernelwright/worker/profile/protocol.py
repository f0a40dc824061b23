"""The contract of a profiler: given a call, what counters it can read of each launch.

What it cannot do is a reason in words, not an error, and the next one in the table is tried.
"""

from __future__ import annotations

from typing import Protocol

from kernelwright.model import LaunchProfile
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.profile.job import Job


class CannotProfile(Exception):
    """This tool gives nothing for this call here; the message says why."""


class Profiler(Protocol):
    name: str
    """What `Profile.tool` and `Counter.tool` say."""

    def profile(self, processes: Processes, job: Job, full: bool) -> tuple[LaunchProfile, ...]:
        """The launches of one call, in order, under the lease of the GPU. full: every counter that the tool has.

        Raises `CannotProfile`.
        """
        ...
