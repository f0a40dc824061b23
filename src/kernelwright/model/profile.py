"""Counters of a profiler for the kernel launches of one call. `Diagnosis` interprets them."""

from __future__ import annotations

import math

from kernelwright.model.base import Record


class Counter(Record, frozen=True, kw_only=True):
    """One counter of one launch. name: kernelwright's name (`dram_read_bytes`) if there is one, else the tool's.

    unit: "bytes", "bytes/s", "us", "fraction", "instructions", … (see docs/diagnosis.md). tool: the profiler or
    compiler that counted. metric: the tool's name of the counter. A counter that was not read is left out, never zero.
    """

    name: str
    value: float
    unit: str
    tool: str
    metric: str = ""


class LaunchProfile(Record, frozen=True, kw_only=True):
    """One kernel launch. grid: blocks; block: threads; both () if the tool does not report them."""

    kernel: str
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    counters: tuple[Counter, ...] = ()

    def value(self, name: str) -> float | None:
        """The value of a counter (the first one if two tools read it); None if no tool read it."""
        return next((counter.value for counter in self.counters if counter.name == name), None)

    @property
    def threads(self) -> int:
        return math.prod(self.grid) * math.prod(self.block)


class Profile(Record, frozen=True, kw_only=True):
    """The launches of one call of an implementation on one case, in order.

    implementation: a candidate's id, "eager" or "compile". tool: the profiler that read the device counters; None if
    nothing ran and all counters come from the compiler. not_used: tools that were tried before, each with the reason
    why it gave nothing. key: hash of everything that a profile depends on, its key in the cache.
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
    """How long profiling used the device; 0 if it did not."""

    @property
    def main(self) -> LaunchProfile | None:
        """The longest launch; without durations, the launch with the most threads."""
        return max(self.launches, key=lambda launch: (launch.value("duration") or 0.0, launch.threads), default=None)
