"""The protocol of a profiler: it makes one call and returns counters for each launch of the call.

If a profiler does not work here, it raises `CannotProfile` with the reason, and the next one in the table is tried.
"""

from __future__ import annotations

from typing import Protocol

from kernelwright.model import LaunchProfile
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.profile.job import Job


class CannotProfile(Exception):
    """This profiler cannot profile this call on this machine; the message says why."""


class Profiler(Protocol):
    name: str
    """Value of `Profile.tool` and `Counter.tool`."""

    def profile(self, processes: Processes, job: Job, full: bool) -> tuple[LaunchProfile, ...]:
        """The launches of one call, in order. The caller has the lease of the GPU. full: read all its counters.

        Raises `CannotProfile`.
        """
        ...
