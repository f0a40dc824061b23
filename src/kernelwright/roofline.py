"""The bound that no kernel can beat, the distance to it and, without a GPU, an estimate of a time. Pure arithmetic.

A bound is compulsory bytes and FLOP over *measured* peaks (Williams, Waterman, Patterson, "Roofline", CACM
52(4), 2009). An estimate is a guess that orders configurations; it is called an estimate wherever it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from kernelwright.devices import WARP_THREADS, Target
from kernelwright.model import Bound, CaseResult, KernelResources, ProblemInfo, Record

LAUNCH_US = 2.0
"""Device-side cost of starting a kernel in a CUDA graph: the least that one more launch adds, in magnitude."""

WIDEST_BYTES = 16
"""Of one load or store of a thread. What a thread has under way is taken to be the geometric mean of this and of what
it moves in one turn of its loop: over 240 configs measured on an H200 (`spaces/files`) the rank correlation with the
estimate is then 0.85 (softmax), 0.61 (depthwise convolution), 0.51 and 0.50 (products). With this alone it is 0.58,
0.87, 0.20 and 0.29, and loops come last; with what it moves alone 0.46, 0.56, 0.64 and 0.75. The rule was chosen on
these same configs."""

LATENCY_S = 700e-9
"""DRAM latency under load on Hopper, about 1200 cycles at 1.75 GHz (Luo et al., "Benchmarking and Dissecting the
NVIDIA Hopper GPU Architecture via Microbenchmarking", 2024, gives 478 cycles unloaded)."""


NARROW = ("int8", "uint8", "bool")
"""Dtypes of eight bits besides every float8: the matrix units multiply them twice as fast as those of sixteen."""

HALVES_PER_FLOAT32 = 3
"""Products of half-precision parts that add up to one as exact as float32's (Ootomo, Yokota, "Recovering single
precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36(4), 2022)."""


def bound(
    bytes: int,
    written_bytes: int,
    flop_by_dtype: dict[str, int],
    peaks: dict[str, float],
    source: str,
    stated: Sequence[Literal["bytes", "flop"]] = (),
) -> Bound:
    """The larger of the time to move the bytes and of the time to compute the FLOP at measured rates.

    bytes: read and written; written_bytes: those of them that are written. stated: what of the two the problem states.
    """
    moving_us, computing_us = moving_s(bytes, written_bytes, peaks) * 1e6, computing_s(flop_by_dtype, peaks) * 1e6
    flop = sum(flop_by_dtype.values())
    return Bound(
        bound_us=max(moving_us, computing_us),
        bound_by="flop" if computing_us > moving_us else "bytes",
        bytes=bytes,
        flop=flop,
        peaks=source,
        bytes_per_s=bytes / moving_us * 1e6 if moving_us else None,
        flop_per_s=flop / computing_us * 1e6 if computing_us else None,
        stated=tuple(stated),
        stated_us=max(moving_us * ("bytes" in stated), computing_us * ("flop" in stated)),
        written_bytes=written_bytes,
        flop_by_dtype=flop_by_dtype,
    )


def computing_s(flop_by_dtype: dict[str, int], peaks: dict[str, float]) -> float:
    """The least time for products of several dtypes.

    All but float32 share the matrix units, so that their times add up. float32 may run beside them on the ordinary
    units, so it only sets a limit by itself.
    """
    alone_s = {dtype: flop / flop_rate(dtype, peaks) for dtype, flop in flop_by_dtype.items()}
    float32_s = alone_s.pop("float32", 0.0)
    return max(float32_s, sum(alone_s.values()))


def flop_rate(dtype: str, peaks: dict[str, float]) -> float:
    """FLOP per second that no kernel exceeds on operands of `dtype`.

    That of float32 is its own measured rate and, beside it, the matrix units on three half-precision products each. A
    dtype that was not measured has the fastest rate that was, and one of eight bits twice that.
    """
    rates = {name.removesuffix("_flop_per_s"): rate for name, rate in peaks.items() if name.endswith("_flop_per_s")}
    fastest = max(rates.values())
    if dtype == "float32":
        halves = max(rates.get("float16", 0.0), rates.get("bfloat16", 0.0))
        return rates.get("float32", fastest) + halves / HALVES_PER_FLOAT32
    if dtype in NARROW or dtype.startswith("float8"):
        return rates.get(dtype, 2 * fastest)
    return rates.get(dtype, fastest)


def moving_s(bytes: int, written_bytes: int, peaks: dict[str, float]) -> float:
    """The least time to move a mix of reads and writes at measured peaks.

    As much as is read *and* written goes at the copy rate, the rest at the read or the write rate: memory that is
    only read or only written is faster than a mix, by 3 and 10 % on an H200.
    """
    read_bytes = bytes - written_bytes
    both = 2 * min(read_bytes, written_bytes)
    rest = "read" if read_bytes > written_bytes else "write"
    return both / peaks["copy_bytes_per_s"] + (bytes - both) / peaks[f"{rest}_bytes_per_s"]


class Launched(NamedTuple):
    """One launch of a plan. bytes: of the tensors that it is given."""

    kernel: KernelResources
    blocks: int
    bytes: int


def estimate_us(least: Bound, launches: Sequence[Launched], target: Target, bandwidth_bytes_per_s: float) -> float:
    """A guess at the device time of a plan.

    The work of `least` is shared among the launches by the bytes of the tensors that they are given. Each takes the
    larger of
      its part of the bound × (1 / share of the bandwidth that its resident threads can keep busy)
                            × (whole waves / waves) × (1 + 2 × spilled bytes / moved bytes, both per thread), and
      its waves × LATENCY_S: a block cannot end before its first load has come back,
    plus LAUNCH_US. The share is resident threads × the bytes that each has under way (WIDEST_BYTES) over bandwidth ×
    LATENCY_S (Little's law). A spilled byte is stored and loaded once in a turn of the loop, against the bytes that the
    turn moves, but at least 64.
    """
    total, given = 0.0, sum(launch.bytes for launch in launches)
    for kernel, blocks, own in launches:
        per_multiprocessor = max(1, round(kernel.occupancy * target.warps_per_multiprocessor / kernel.num_warps))
        slots = per_multiprocessor * target.multiprocessors
        moved = kernel.moved_bytes or WIDEST_BYTES
        in_flight_bytes = min(blocks, slots) * kernel.num_warps * WARP_THREADS * math.sqrt(WIDEST_BYTES * moved)
        share = min(1.0, in_flight_bytes / (bandwidth_bytes_per_s * LATENCY_S))
        waves = max(blocks / slots, 1.0)
        tail = -(-max(blocks, slots) // slots) / waves
        part_us = least.bound_us * (own / given if given else 1 / len(launches))
        moving = part_us / share * tail * (1 + 2 * kernel.spill_bytes / max(64, moved))
        total += max(moving, waves * LATENCY_S * 1e6) + LAUNCH_US
    return total


class Point(Record, frozen=True, kw_only=True):
    """One implementation on one case, as a point under the roof of its bound. time_us: measured or estimated, by kind.

    bytes and FLOP are those of the work, not those that the implementation spent: two implementations of a case lie
    above one another, and a wasted byte shows as lost time.
    """

    name: str
    case: str
    bound: Bound
    time_us: float
    kind: Literal["measured", "estimate"]

    @property
    def share(self) -> float:
        """Of the bound that is reached: 1 is at the bound."""
        return self.bound.bound_us / self.time_us

    @property
    def gap(self) -> float:
        """How many times the bound it takes: 1 is at the bound."""
        return self.time_us / self.bound.bound_us

    @property
    def flop_per_byte(self) -> float | None:
        """Arithmetic intensity of the work; None where no FLOP is counted or stated, or no byte moves."""
        return self.bound.flop / self.bound.bytes if self.bound.flop and self.bound.bytes else None

    @property
    def flop_per_s(self) -> float | None:
        """Useful FLOP per second; None where none is counted or stated."""
        return self.bound.flop / self.time_us * 1e6 if self.bound.flop else None

    @property
    def bytes_per_s(self) -> float:
        """Compulsory bytes per second."""
        return self.bound.bytes / self.time_us * 1e6


def ridge_flop_per_byte(bound: Bound) -> float | None:
    """The intensity at which the two roofs of a bound meet; None where its peaks were not kept."""
    return bound.flop_per_s / bound.bytes_per_s if bound.flop_per_s and bound.bytes_per_s else None


def roof_flop_per_s(bound: Bound, flop_per_byte: float) -> float | None:
    """The most FLOP per second at an intensity, under the peaks of a bound."""
    if not (bound.flop_per_s and bound.bytes_per_s):
        return None
    return min(bound.flop_per_s, flop_per_byte * bound.bytes_per_s)


def points(name: str, results: Sequence[CaseResult], problem: ProblemInfo) -> tuple[Point, ...]:
    """One for each result that was timed, in their order."""
    bounds = {info.case.name: info.bound for info in problem.cases}
    return tuple(
        Point(name=name, case=r.case, bound=bounds[r.case], time_us=r.timing.median_us, kind=r.timing.kind)
        for r in results
        if r.timing is not None and r.timing.median_us > 0 and r.case in bounds and bounds[r.case].bound_us > 0
    )
