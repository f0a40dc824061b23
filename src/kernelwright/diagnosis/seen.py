"""What the rules look at: figures derived from a profile, a time and a bound. It judges nothing.

The one rule: a figure whose counters were not read is None, and a time that was only estimated is no time at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.devices import TARGETS, Target, occupancy
from kernelwright.model import CaseInfo, LaunchProfile, Profile, TensorSpec, Timing

HALF = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
"""Dtypes whose products are exact on the tensor cores; float32 is not (TF32)."""

RESOURCES = {
    "dram_throughput": "DRAM",
    "l2_throughput": "the L2 cache",
    "l1_throughput": "the L1 cache",
    "issue_active": "instruction issue",
    "tensor_pipe": "the tensor cores",
}
"""Counters that say how busy a part is, as a fraction of what it can sustain."""

THREADS_PER_WARP = 32
SECTOR_BYTES = 32


@dataclass(frozen=True)
class Seen:
    """One implementation on one case. peaks: of the device, as in `Environment.peaks`."""

    info: CaseInfo
    timing: Timing | None
    profile: Profile | None
    peaks: Mapping[str, float] = field(default_factory=dict)

    # --- the call -------------------------------------------------------------------------------------------

    @property
    def launches(self) -> tuple[LaunchProfile, ...]:
        return self.profile.launches if self.profile is not None else ()

    @property
    def time_us(self) -> float | None:
        """Measured by the clock, else the launches' durations together."""
        if self.timing is not None and self.timing.kind == "measured":
            return self.timing.median_us
        return self.total("duration")

    @property
    def share(self) -> float | None:
        """Of the bound that is reached."""
        return self.info.bound.bound_us / self.time_us if self.time_us else None

    def total(self, name: str) -> float | None:
        """A counter over all launches; None where one of them lacks it."""
        values = [launch.value(name) for launch in self.launches]
        known = [value for value in values if value is not None]
        return sum(known) if known and len(known) == len(values) else None

    @property
    def moved_bytes(self) -> float | None:
        """Between DRAM and the chip, both ways."""
        read, written = self.total("dram_read"), self.total("dram_write")
        return None if read is None or written is None else read + written

    @property
    def half(self) -> bool:
        """Whether the work is in a dtype whose products the tensor cores compute exactly."""
        specs = [spec for spec in self.info.inputs if isinstance(spec, TensorSpec)]
        floats = [spec.dtype for spec in specs if "float" in spec.dtype]
        return bool(floats) and all(dtype in HALF for dtype in floats)

    @property
    def uses_tensor_cores(self) -> bool | None:
        """None where nothing says so."""
        in_code, busy = (
            self.total("code_tensor_instructions"),
            [launch.value("tensor_pipe") for launch in self.launches],
        )
        if in_code is not None:
            return in_code > 0
        known = [value for value in busy if value is not None]
        return max(known) > 0 if known else None

    # --- the launch that matters ----------------------------------------------------------------------------

    @property
    def main(self) -> LaunchProfile | None:
        """The longest launch; where no durations are known, the one with the most threads."""
        return max(self.launches, key=lambda launch: (launch.value("duration") or 0.0, threads(launch)), default=None)

    @property
    def main_us(self) -> float | None:
        """How much of the call's time the main launch takes."""
        main, whole = self.main, self.total("duration")
        if main is None or self.time_us is None:
            return None
        return self.time_us * (main.value("duration") or 0.0) / whole if whole else self.time_us

    def value(self, name: str) -> float | None:
        return self.main.value(name) if self.main is not None else None

    def tool(self, name: str) -> str:
        counters = self.main.counters if self.main is not None else ()
        return next((counter.tool for counter in counters if counter.name == name), "")

    @property
    def busy(self) -> dict[str, float]:
        """How busy each part is that was looked at, the busiest first."""
        found = {name: value for name in RESOURCES if (value := self.value(name)) is not None}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def target(self) -> Target | None:
        return TARGETS.get(self.profile.target) if self.profile is not None else None

    @property
    def filled(self) -> float | None:
        """Which part of the device the main launch's blocks keep busy, if all take equally long: a last wave that is
        mostly empty, or fewer blocks than multiprocessors, leave the rest idle."""
        waves, target, main = self.value("waves"), self.target, self.main
        if waves is None or target is None or main is None or not main.grid:
            return None
        if waves <= 1:
            return min(1.0, math.prod(main.grid) / target.multiprocessors)
        return waves / math.ceil(waves)

    @property
    def occupancy_limited_by(self) -> str | None:
        main, target = self.main, self.target
        registers, shared = self.value("registers"), self.value("shared_memory")
        if main is None or target is None or registers is None or not main.block:
            return None
        warps = math.prod(main.block) // THREADS_PER_WARP
        return occupancy(target, max(warps, 1), round(registers), round(shared or 0))[1]

    def excess_sectors(self, kind: str) -> float | None:
        """How many times the sectors that it needs a global access ("load", "store") takes, on average.

        A warp that moves w bytes a thread, all of them neighbours, takes w sectors of 32 bytes. Where the code does not
        say how wide accesses are, the widest (16 bytes) is assumed, and only gross waste is seen.
        """
        sectors, requests = self.value(f"global_{kind}_sectors"), self.value(f"global_{kind}_requests")
        if not sectors or not requests:
            return None
        width = self.value(f"code_global_{kind}_width") or 16.0
        needed = max(1.0, width * THREADS_PER_WARP / SECTOR_BYTES)
        return sectors / requests / needed

    @property
    def stalls(self) -> dict[str, float]:
        """Why warps waited, each as a part of all their waiting, the commonest first. Being ready and not chosen is no
        waiting."""
        main = self.main
        counters = main.counters if main is not None else ()
        found = {c.name: c.value for c in counters if c.name.startswith("stall_") and c.name != "stall_not_selected"}
        whole = sum(found.values())
        return {name: value / whole for name, value in sorted(found.items(), key=lambda i: -i[1])} if whole else {}


def threads(launch: LaunchProfile) -> int:
    return math.prod(launch.grid) * math.prod(launch.block)
