"""The message from the supervisor to a generator process."""

from __future__ import annotations

from kernelwright.model import Case, Generated
from kernelwright.worker.processes.channel import Message


class Generate(Message[Generated], frozen=True, kw_only=True, tag="generate"):
    """Generate code for the first timed case of the problem at `path`. cases: all cases, with the derived ones. target:
    such as "sm_90". cache: an empty folder for Inductor's cache. limit_s: processor time after which no answer is
    read."""

    path: str
    cases: tuple[Case, ...]
    target: str
    cache: str
    limit_s: float
