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


def bound(bytes: int, flop: int, dtype: str, peaks: dict[str, float], source: str) -> Bound:
    """The larger of bytes over the best measured bandwidth and FLOP over the measured matrix rate of `dtype`."""
    bandwidth = max(peaks[f"{kind}_bytes_per_s"] for kind in ("copy", "read", "write"))
    rate = peaks.get(f"{dtype}_flop_per_s") or max(v for k, v in peaks.items() if k.endswith("_flop_per_s"))
    by_bytes, by_flop = bytes / bandwidth * 1e6, flop / rate * 1e6
    limit = "flop" if by_flop > by_bytes else "bytes"
    return Bound(bound_us=max(by_bytes, by_flop), bound_by="flop" if limit == "flop" else "bytes", bytes=bytes,
                 flop=flop, peaks=source)  # fmt: skip


def estimate_us(
    least: Bound, launches: Sequence[tuple[KernelResources, int]], target: Target, bandwidth_bytes_per_s: float
) -> float:
    """A guess at the device time of a plan. launches: resources and number of blocks of each, in order.

    bound × (1 / share of the bandwidth that resident warps can keep busy) × (whole waves / waves) × (1 + spills),
    plus LAUNCH_US for each launch; the parts of several launches are weighted equally. The share is occupancy ×
    warps × BYTES_IN_FLIGHT_PER_WARP over the bytes that Little's law asks for. Spills count as extra traffic of one
    store and one load per spilled byte and thread, relative to 64 bytes of useful traffic per thread.
    """
    factor = 0.0
    needed = bandwidth_bytes_per_s * LATENCY_S
    for kernel, blocks in launches:
        per_multiprocessor = max(1, round(kernel.occupancy * target.warps_per_multiprocessor / kernel.num_warps))
        slots = per_multiprocessor * target.multiprocessors
        resident = min(blocks, slots) * kernel.num_warps
        share = min(1.0, resident * BYTES_IN_FLIGHT_PER_WARP / needed)
        waves = blocks / slots
        tail = 1.0 if waves <= 1 else -(-blocks // slots) / waves
        factor += tail / max(share, 1e-3) * (1 + 2 * kernel.spill_bytes / 64)
    return least.bound_us * factor / max(len(launches), 1) + LAUNCH_US * len(launches)
