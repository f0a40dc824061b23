"""Figures for the diagnosis rules, derived from a profile, a time and a bound. The rules judge them.

A figure whose counters were not read is None. An estimated time counts as no time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.devices import TARGETS, WARP_THREADS, Target, occupancy
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
"""Utilisation counters, as a fraction of what the unit can sustain, with the unit's name."""

TENSOR_NOISE = 0.05
"""Tensor-pipe utilisation above which tensor cores count as used. The pipe also executes some half-precision moves and
adds: up to 2.5 % of its cycles on an H200 in kernels without a matrix product."""

STREAMED = 1.25
"""Factor on DRAM's utilisation when it is compared with L2's. L2's throughput over DRAM's measured one was 0.93 to 1.5
on an H200 in streaming kernels."""

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Seen:
    """All that is known of one implementation on one case. peaks: of the device, as in `Environment.peaks`."""

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
        """The measured time, else the sum of the launches' durations."""
        if self.timing is not None and self.timing.kind == "measured":
            return self.timing.median_us
        return self.total("duration")

    @property
    def share(self) -> float | None:
        """The fraction of the bound that is reached."""
        return self.info.bound.bound_us / self.time_us if self.time_us else None

    def total(self, name: str) -> float | None:
        """The sum of a counter over all launches; None where one of them lacks it."""
        values = [launch.value(name) for launch in self.launches]
        known = [value for value in values if value is not None]
        return sum(known) if known and len(known) == len(values) else None

    @property
    def moved_bytes(self) -> float | None:
        """Bytes read from and written to DRAM."""
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
        """None where it is not known."""
        in_code = self.total("code_tensor_instructions")
        if in_code is not None:
            return in_code > 0
        busy = [value for launch in self.launches if (value := launch.value("tensor_pipe")) is not None]
        return max(busy) > TENSOR_NOISE if busy else None

    # --- the launch that matters ----------------------------------------------------------------------------

    @property
    def main(self) -> LaunchProfile | None:
        return self.profile.main if self.profile is not None else None

    @property
    def main_us(self) -> float | None:
        """The main launch's share of the call's time."""
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
        """The utilisation of each measured unit, the busiest first.

        Where bandwidth was counted, DRAM is compared with its *measured* peak for this case's mix of reads and writes:
        the counter refers to a peak that no kernel reaches (86 % on an H200 at 97 % of a copy's bandwidth). Data that
        streams through DRAM also streams through L2, which then looks busier. So DRAM goes first where it is nearly as
        busy.
        """
        found = {name: value for name in RESOURCES if (value := self.value(name)) is not None}
        bandwidth, peak = self.value("dram_bandwidth"), self.info.bound.bytes_per_s
        if bandwidth is not None and peak:
            found["dram_throughput"] = bandwidth / peak
        through = found.get("dram_throughput", 0.0) * STREAMED
        return dict(sorted(found.items(), key=lambda item: -(through if item[0] == "dram_throughput" else item[1])))

    @property
    def exchanged(self) -> float | None:
        """Shared memory's fraction of L1's work. Threads exchange values through it in reductions over warps and layout
        changes. In wavefronts, where a global access of four sectors counts as one."""
        shared = self.value("shared_wavefronts")
        sectors = [self.value(f"global_{kind}_sectors") for kind in ("load", "store")]
        known = [value for value in sectors if value is not None]
        if shared is None or len(known) < len(sectors):
            return None
        return shared / (shared + sum(known) / 4) if shared else 0.0

    @property
    def target(self) -> Target | None:
        return TARGETS.get(self.profile.target) if self.profile is not None else None

    @property
    def filled(self) -> float | None:
        """The fraction of the device that the main launch's blocks keep busy, if all blocks take equally long. A mostly
        empty last wave, or fewer blocks than multiprocessors, leave the rest idle."""
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
        warps = math.prod(main.block) // WARP_THREADS
        return occupancy(target, max(warps, 1), round(registers), round(shared or 0))[1]

    def excess_sectors(self, kind: str) -> float | None:
        """The average number of sectors of a global access ("load", "store"), relative to the sectors that it needs.

        A warp whose threads move w bytes each, all adjacent, needs w sectors of 32 bytes. Where the width of accesses
        is not known from the code, the widest (16 bytes) is assumed, so only gross waste is seen.
        """
        sectors, requests = self.value(f"global_{kind}_sectors"), self.value(f"global_{kind}_requests")
        if not sectors or not requests:
            return None
        width = self.value(f"code_global_{kind}_width") or 16.0
        needed = max(1.0, width * WARP_THREADS / SECTOR_BYTES)
        return sectors / requests / needed

    @property
    def stalls(self) -> dict[str, float]:
        """Stall reasons, each as a fraction of all stalls, the most frequent first. "Not selected" does not count as a
        stall."""
        main = self.main
        counters = main.counters if main is not None else ()
        found = {c.name: c.value for c in counters if c.name.startswith("stall_") and c.name != "stall_not_selected"}
        whole = sum(found.values())
        return {name: value / whole for name, value in sorted(found.items(), key=lambda i: -i[1])} if whole else {}
