"""The roofline bound of a case, the gap of an implementation to it, and an estimated time without a GPU.

A bound is compulsory bytes and FLOP over *measured* peaks (Williams, Waterman, Patterson, "Roofline", CACM
52(4), 2009). An estimate is a guess that ranks configs; it is called an estimate wherever it is shown. All functions
are pure arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from kernelwright.devices import WARP_THREADS, Target
from kernelwright.model import Bound, CaseResult, KernelResources, ProblemInfo, Record

LAUNCH_US = 2.0
"""Device-side cost of one more kernel launch in a CUDA graph, as an order of magnitude."""

WIDEST_BYTES = 16
"""Bytes of the widest load or store of a thread. The estimate takes a thread's bytes in flight as the geometric mean of
this and of the bytes that the thread moves in one loop iteration. Over 240 configs measured on an H200 (`spaces/files`)
the rank correlation of the estimate with the measured time is then 0.85 (softmax), 0.61 (depthwise convolution), 0.51
and 0.50 (products). With this constant alone it is 0.58, 0.87, 0.20 and 0.29, and kernels with loops rank last; with
the moved bytes alone 0.46, 0.56, 0.64 and 0.75. The rule was chosen on these same configs."""

LATENCY_S = 700e-9
"""DRAM latency under load on Hopper, about 1200 cycles at 1.75 GHz (Luo et al., "Benchmarking and Dissecting the
NVIDIA Hopper GPU Architecture via Microbenchmarking", 2024, gives 478 cycles unloaded)."""

SLOW_LIBRARY = 0.7
"""A library call that was measured below this share of its bound joins the region around it, or is named."""

NARROW = ("int8", "uint8", "bool")
"""Dtypes of eight bits besides every float8: tensor cores multiply them twice as fast as dtypes of sixteen bits."""

HALVES_PER_FLOAT32 = 3
"""Number of half-precision products whose sum is as accurate as one float32 product (Ootomo, Yokota, "Recovering single
precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36(4), 2022)."""


def bound(
    bytes: int,
    written_bytes: int,
    flop_by_dtype: dict[str, int],
    peaks: dict[str, float],
    source: str,
    stated: Sequence[Literal["bytes", "flop"]] = (),
) -> Bound:
    """The larger of the time to move the bytes and the time to compute the FLOP at measured rates.

    bytes: read and written; written_bytes: the written part of them. stated: which of the two the problem states itself
    (the others are counted). source: the name of the peaks.
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

    All dtypes but float32 share the tensor cores, so their times add up. float32 may run at the same time on the CUDA
    cores, so its time is only a separate lower limit.
    """
    alone_s = {dtype: flop / flop_rate(dtype, peaks) for dtype, flop in flop_by_dtype.items()}
    float32_s = alone_s.pop("float32", 0.0)
    return max(float32_s, sum(alone_s.values()))


def flop_rate(dtype: str, peaks: dict[str, float]) -> float:
    """FLOP per second that no kernel exceeds on operands of `dtype`.

    The rate of float32 is its measured rate plus that of the tensor cores with three half-precision products for each
    product. A dtype without a measured rate gets the fastest measured rate, and one of eight bits twice that.
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

    Equal amounts of reads and writes move at the copy rate, the rest at the read or the write rate: only reading or
    only writing is faster than a mix, by 3 and 10 % on an H200.
    """
    read_bytes = bytes - written_bytes
    both = 2 * min(read_bytes, written_bytes)
    rest = "read" if read_bytes > written_bytes else "write"
    return both / peaks["copy_bytes_per_s"] + (bytes - both) / peaks[f"{rest}_bytes_per_s"]


class Launched(NamedTuple):
    """One launch of a launch plan. bytes: total size of its tensor arguments."""

    kernel: KernelResources
    blocks: int
    bytes: int


def estimate_us(least: Bound, launches: Sequence[Launched], target: Target, bandwidth_bytes_per_s: float) -> float:
    """A guess at the device time of a launch plan.

    The bound `least` is divided among the launches in proportion to the bytes of their tensor arguments. The time of
    each launch is LAUNCH_US plus the larger of
      its part of the bound × (1 / share of the bandwidth that its resident threads can keep busy)
                            × (whole waves / waves) × (1 + 2 × spilled bytes / moved bytes, both per thread), and
      its waves × LATENCY_S: a block cannot end before its first load has returned.
    The share is resident threads × bytes in flight per thread (see WIDEST_BYTES) over bandwidth × LATENCY_S (Little's
    law), and at most 1. A spilled byte is stored and loaded once in each loop iteration; the moved bytes are those of
    the iteration, but at least 64.
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
    """One implementation on one case, as a point in the roofline plot. time_us: measured or estimated, see `kind`.

    bytes and FLOP are those that the case requires, not those that the implementation spent. Two implementations of a
    case therefore have the same intensity, and wasted bytes show as a lower rate.
    """

    name: str
    case: str
    bound: Bound
    time_us: float
    kind: Literal["measured", "estimate"]

    @property
    def share(self) -> float | None:
        """Bound over time: 1 is at the bound; None for an estimate."""
        return self.bound.bound_us / self.time_us if self.kind == "measured" else None

    @property
    def gap(self) -> float:
        """Time over bound: 1 is at the bound."""
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
    """The intensity at which the memory roof and the compute roof of a bound meet; None without recorded peaks."""
    return bound.flop_per_s / bound.bytes_per_s if bound.flop_per_s and bound.bytes_per_s else None


def roof_flop_per_s(bound: Bound, flop_per_byte: float) -> float | None:
    """The most FLOP per second at an intensity under the peaks of a bound; None without recorded peaks."""
    if not (bound.flop_per_s and bound.bytes_per_s):
        return None
    return min(bound.flop_per_s, flop_per_byte * bound.bytes_per_s)


def points(name: str, results: Sequence[CaseResult], problem: ProblemInfo) -> tuple[Point, ...]:
    """A point for each timed result, in the order of the results."""
    bounds = {info.case.name: info.bound for info in problem.cases}
    return tuple(
        Point(name=name, case=r.case, bound=bounds[r.case], time_us=r.timing.median_us, kind=r.timing.kind)
        for r in results
        if r.timing is not None and r.timing.median_us > 0 and r.case in bounds and bounds[r.case].bound_us > 0
    )
