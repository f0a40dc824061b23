"""What the supervisor asks of a generator."""

from __future__ import annotations

from kernelwright.model import Case
from kernelwright.worker.processes.channel import Message


class Generate(Message, frozen=True, kw_only=True, tag="generate"):
    """Generate for the first timed case of the problem at `path`. cases: all that it has, derived ones too. dtype: in
    place of that case's own. target: such as "sm_90". cache: an empty folder for what Inductor writes."""

    path: str
    dtype: str | None
    cases: tuple[Case, ...]
    target: str
    cache: str
