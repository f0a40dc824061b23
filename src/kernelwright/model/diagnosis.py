"""The diagnosis of a kernel: its bottleneck with evidence, and ranked alternatives."""

from __future__ import annotations

import enum
from typing import Literal

from kernelwright.model.base import Record


class Limit(enum.StrEnum):
    """What can limit the speed of a kernel. The list is closed: a new limit needs a member, a rule and moves."""

    NONE = "none"
    """The kernel is at the bound: only less work could make it faster."""
    DRAM = "dram"
    """DRAM is busy, with more bytes than the work needs or with slow accesses."""
    EXCESS_BYTES = "excess_bytes"
    UNCOALESCED = "uncoalesced"
    CACHE = "cache"
    """L1 or L2 is busy, DRAM is not: the same bytes are requested repeatedly, or in small pieces."""
    SHARED = "shared"
    """Shared memory is busy: threads exchange values, in reductions over warps or changes of layout."""
    SPILLS = "spills"
    OCCUPANCY = "occupancy"
    GRID = "grid"
    """Too few blocks for the device, or a last wave that leaves most of it idle."""
    TENSOR_UNUSED = "tensor_unused"
    TENSOR = "tensor"
    INSTRUCTIONS = "instructions"
    SYNCHRONISATION = "synchronisation"
    LATENCY = "latency"
    LAUNCH = "launch"
    """The call costs the host more than the device."""
    UNKNOWN = "unknown"
    """The available counters do not show a limit."""


class Evidence(Record, frozen=True, kw_only=True):
    """One figure that supports a limit. relation: of value to threshold. implies: the conclusion, in words. tool: the
    source of the figure ("clock", "bound", or a profiler's name)."""

    metric: str
    value: float
    unit: str
    relation: Literal["above", "below"]
    threshold: float
    implies: str
    tool: str


class Finding(Record, frozen=True, kw_only=True):
    """A limit with its evidence. kernel: the launch in which it was found; None: the whole call. moves: names of the
    moves that address it, the most promising first. at_stake_us: approximate time that removing the limit would save;
    None if unknown."""

    limit: Limit
    kernel: str | None
    summary: str
    evidence: tuple[Evidence, ...]
    moves: tuple[str, ...] = ()
    at_stake_us: float | None = None


class Diagnosis(Record, frozen=True, kw_only=True):
    """The bottleneck of one implementation on one case; alternatives are sorted, the likeliest first.

    share: bound over time; None if nothing was measured. kind: whether the time was measured or estimated. counters:
    the tool that read them (see `Profile.tool`).
    """

    implementation: str
    case: str
    share: float | None
    kind: Literal["measured", "estimate"] | None
    counters: str | None
    bottleneck: Finding
    alternatives: tuple[Finding, ...]
