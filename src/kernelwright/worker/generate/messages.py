"""The message from the supervisor to a generator process."""

from __future__ import annotations

from kernelwright.model import Case
from kernelwright.worker.processes.channel import Message


class Generate(Message, frozen=True, kw_only=True, tag="generate"):
    """Generate code for the first timed case of the problem at `path`. cases: all cases, with the derived ones. target:
    such as "sm_90". cache: an empty folder for Inductor's cache. limit_s: after which no answer is read."""

    path: str
    cases: tuple[Case, ...]
    target: str
    cache: str
    limit_s: float
