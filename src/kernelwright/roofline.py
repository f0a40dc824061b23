"""The bound that no kernel can beat and, without a GPU, an estimate of a kernel's time. Pure arithmetic.

A bound is made of compulsory bytes and FLOP over *measured* peaks (Williams, Waterman, Patterson, "Roofline", CACM
52(4), 2009). An estimate is a guess that orders configurations; it is called an estimate wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.devices import Target
from kernelwright.model import Bound, KernelResources

LAUNCH_US = 2.0
"""Device-side cost of starting a kernel in a CUDA graph: the least that one more launch adds, in magnitude."""

BYTES_IN_FLIGHT_PER_WARP = 32 * 16
"""Little's law needs bytes in flight; a warp issuing one 16-byte load per thread keeps 512 of them."""

LATENCY_S = 700e-9
"""DRAM latency under load on Hopper, about 1200 cycles at 1.75 GHz (Luo et al., "Benchmarking and Dissecting the
NVIDIA Hopper GPU Architecture via Microbenchmarking", 2024, gives 478 cycles unloaded)."""


def bound(bytes: int, written_bytes: int, flop: int, dtype: str, peaks: dict[str, float], source: str) -> Bound:
    """The larger of the time to move the bytes and FLOP over the measured matrix rate of `dtype`.

    bytes: read and written; written_bytes: those of them that are written.
    """
    rate = peaks.get(f"{dtype}_flop_per_s") or max(v for k, v in peaks.items() if k.endswith("_flop_per_s"))
    by_bytes, by_flop = moving_s(bytes, written_bytes, peaks) * 1e6, flop / rate * 1e6
    limit = "flop" if by_flop > by_bytes else "bytes"
    return Bound(bound_us=max(by_bytes, by_flop), bound_by="flop" if limit == "flop" else "bytes", bytes=bytes,
                 flop=flop, peaks=source)  # fmt: skip


def moving_s(bytes: int, written_bytes: int, peaks: dict[str, float]) -> float:
    """The least time to move a mix of reads and writes at measured peaks.

    As much as is read *and* written goes at the copy rate, the rest at the read or the write rate: memory that is
    only read or only written is faster than a mix, by 3 and 10 % on an H200.
    """
    read_bytes = bytes - written_bytes
    both = 2 * min(read_bytes, written_bytes)
    rest = "read" if read_bytes > written_bytes else "write"
    return both / peaks["copy_bytes_per_s"] + (bytes - both) / peaks[f"{rest}_bytes_per_s"]


def estimate_us(
    least: Bound, launches: Sequence[tuple[KernelResources, int]], target: Target, bandwidth_bytes_per_s: float
) -> float:
    """A guess at the device time of a plan. launches: resources and number of blocks of each, in order.

    The work of `least` is shared equally among the launches. Each takes the larger of
      its part of the bound × (1 / share of the bandwidth that its resident warps can keep busy)
                            × (whole waves / waves) × (1 + spilled bytes per thread / 32), and
      its waves × LATENCY_S: a block cannot end before its first load has come back,
    plus LAUNCH_US. The share is resident warps × BYTES_IN_FLIGHT_PER_WARP over bandwidth × LATENCY_S (Little's law).
    A spilled byte is stored and loaded once, against 64 useful bytes per thread.
    """
    total = 0.0
    for kernel, blocks in launches:
        per_multiprocessor = max(1, round(kernel.occupancy * target.warps_per_multiprocessor / kernel.num_warps))
        slots = per_multiprocessor * target.multiprocessors
        in_flight_bytes = min(blocks, slots) * kernel.num_warps * BYTES_IN_FLIGHT_PER_WARP
        share = min(1.0, in_flight_bytes / (bandwidth_bytes_per_s * LATENCY_S))
        waves = max(blocks / slots, 1.0)
        tail = -(-max(blocks, slots) // slots) / waves
        moving = least.bound_us / len(launches) / share * tail * (1 + kernel.spill_bytes / 32)
        total += max(moving, waves * LATENCY_S * 1e6) + LAUNCH_US
    return total
