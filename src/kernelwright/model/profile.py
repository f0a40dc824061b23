"""Counters that a profiler read for the launches of one call, as read; `Diagnosis` interprets them."""

from __future__ import annotations

import math

from kernelwright.model.base import Record


class Counter(Record, frozen=True, kw_only=True):
    """One figure of one launch. name: ours where we have a word for it (`dram_read_bytes`), else the tool's.

    unit: "bytes", "bytes/s", "us", "fraction", "instructions", … (see docs/diagnosis.md). tool: who counted.
    metric: what the tool calls it. A counter that was not read does not exist; none is ever zero for want of a reading.
    """

    name: str
    value: float
    unit: str
    tool: str
    metric: str = ""


class LaunchProfile(Record, frozen=True, kw_only=True):
    """One kernel on the device. grid: blocks; block: threads. Both () where the tool did not say."""

    kernel: str
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    counters: tuple[Counter, ...] = ()

    def value(self, name: str) -> float | None:
        """Of the counter with that name (the first where two tools read it), None where none did."""
        return next((counter.value for counter in self.counters if counter.name == name), None)

    @property
    def threads(self) -> int:
        return math.prod(self.grid) * math.prod(self.block)


class Profile(Record, frozen=True, kw_only=True):
    """The launches of one call of an implementation on one case, in order.

    implementation: a candidate's id, "eager" or "compile". tool: where the counters of the device come from, None
    where nothing ran and all there is comes from the compiler. not_used: the tools that were tried before, each with
    the reason why it gave nothing. key: hash of everything that decides a profile, under which it is kept.
    """

    schema_version: int = 1
    implementation: str
    case: str
    device: str | None
    target: str
    tool: str | None
    launches: tuple[LaunchProfile, ...]
    not_used: dict[str, str] = {}
    method: str = ""
    key: str = ""
    seconds: float = 0.0
    """How long the device was taken for it; 0 where it was not."""

    @property
    def main(self) -> LaunchProfile | None:
        """The longest launch; where no durations were read, the one with the most threads."""
        return max(self.launches, key=lambda launch: (launch.value("duration") or 0.0, launch.threads), default=None)
