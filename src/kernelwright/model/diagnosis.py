"""The bottleneck of a kernel: one bottleneck with its evidence, and what else it might be."""

from __future__ import annotations

import enum
from typing import Literal

from kernelwright.model.base import Record


class Limit(str, enum.Enum):
    """What a kernel can be held back by. Closed: a new one is a new member, with a rule and moves."""

    NONE = "none"
    """It is at the bound: only less work could make it faster."""
    DRAM = "dram"
    """DRAM is busy, though with more bytes than the work needs or with slow ones."""
    EXCESS_BYTES = "excess_bytes"
    UNCOALESCED = "uncoalesced"
    CACHE = "cache"
    """L1 or L2 is busy, DRAM is not: the same bytes are asked for again and again, or in small pieces."""
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
    """The figures at hand do not say."""


class Evidence(Record, frozen=True, kw_only=True):
    """One figure that speaks for a limit. relation: how value compares with threshold. implies: what follows, in words.
    tool: where the figure comes from ("clock", "bound", or a profiler's name)."""

    metric: str
    value: float
    unit: str
    relation: Literal["above", "below"]
    threshold: float
    implies: str
    tool: str


class Finding(Record, frozen=True, kw_only=True):
    """A limit with the launch that it was seen in (None: the whole call), what speaks for it, and the names of the
    moves that address it, the most promising first. at_stake_us: about how much time would go with it, None where that
    cannot be said."""

    limit: Limit
    kernel: str | None
    summary: str
    evidence: tuple[Evidence, ...]
    moves: tuple[str, ...] = ()
    at_stake_us: float | None = None


class Diagnosis(Record, frozen=True, kw_only=True):
    """One bottleneck of one implementation on one case; alternatives are ranked, the likeliest first.

    share: of the bound that was reached, None where nothing was timed. kind: of the time behind it.
    counters: where those came from (see `Profile.tool`).
    """

    implementation: str
    case: str
    share: float | None
    kind: Literal["measured", "estimate"] | None
    counters: str | None
    bottleneck: Finding
    alternatives: tuple[Finding, ...] = ()
