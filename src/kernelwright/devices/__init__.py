"""Hardware limits of GPU architectures, which decide the occupancy of a kernel.

A new architecture is one entry in `TARGETS`. Limits are from the CUDA C++ Programming Guide 13.0, table "Technical
Specifications per Compute Capability". On a GPU peak rates are measured. Without one they come from the file of the
target's device in `peaks/`, whose `source` says whether they were measured or are those of the datasheet.
"""

from __future__ import annotations

from kernelwright.errors import ConfigError
from kernelwright.model import Record


class Target(Record, frozen=True, kw_only=True):
    """Per-multiprocessor limits of an architecture. multiprocessors, l2_bytes: of the GPU that `device` names."""

    name: str
    capability: int
    device: str
    multiprocessors: int
    shared_bytes_per_multiprocessor: int
    shared_bytes_per_block: int
    warps_per_multiprocessor: int
    blocks_per_multiprocessor: int
    registers_per_multiprocessor: int = 65536
    l2_bytes: int


KIB = 1024

WARP_THREADS = 32
"""Threads per warp on every NVIDIA GPU."""

TARGETS = {
    target.name: target
    for target in (
        Target(name="sm_80", capability=80, device="NVIDIA A100", multiprocessors=108,
               shared_bytes_per_multiprocessor=164 * KIB, shared_bytes_per_block=163 * KIB,
               warps_per_multiprocessor=64, blocks_per_multiprocessor=32, l2_bytes=40 * KIB**2),
        Target(name="sm_86", capability=86, device="NVIDIA A10", multiprocessors=72,
               shared_bytes_per_multiprocessor=100 * KIB, shared_bytes_per_block=99 * KIB,
               warps_per_multiprocessor=48, blocks_per_multiprocessor=16, l2_bytes=6 * KIB**2),
        Target(name="sm_89", capability=89, device="NVIDIA L40S", multiprocessors=142,
               shared_bytes_per_multiprocessor=100 * KIB, shared_bytes_per_block=99 * KIB,
               warps_per_multiprocessor=48, blocks_per_multiprocessor=24, l2_bytes=96 * KIB**2),
        Target(name="sm_90", capability=90, device="NVIDIA H200", multiprocessors=132,
               shared_bytes_per_multiprocessor=228 * KIB, shared_bytes_per_block=227 * KIB,
               warps_per_multiprocessor=64, blocks_per_multiprocessor=32, l2_bytes=60 * KIB**2),
        Target(name="sm_100", capability=100, device="NVIDIA B200", multiprocessors=148,
               shared_bytes_per_multiprocessor=228 * KIB, shared_bytes_per_block=227 * KIB,
               warps_per_multiprocessor=64, blocks_per_multiprocessor=32, l2_bytes=126 * KIB**2),
        Target(name="sm_120", capability=120, device="NVIDIA RTX PRO 6000 Blackwell", multiprocessors=188,
               shared_bytes_per_multiprocessor=100 * KIB, shared_bytes_per_block=99 * KIB,
               warps_per_multiprocessor=48, blocks_per_multiprocessor=24, l2_bytes=128 * KIB**2),
    )
}  # fmt: skip


def find_target(name: str) -> Target:
    """The target called `name`; raises ConfigError listing the known ones."""
    if name not in TARGETS:
        raise ConfigError(f"unknown target {name!r}", f"known: {', '.join(TARGETS)}")
    return TARGETS[name]


def device_file(device: str) -> str:
    """The name, without suffix, of a file for a device: nvidia-h200 for "NVIDIA H200"."""
    return device.replace(" ", "-").lower()


def occupancy(target: Target, num_warps: int, registers: int, shared_bytes: int) -> tuple[float, str]:
    """Fraction of the multiprocessor's warp slots that resident blocks fill, and the resource that limits it.

    Registers are allocated per warp in units of 256 (8 per thread). Shared memory is allocated in units of 1 KiB, plus
    1 KiB per block for the system. Source: CUDA C++ Best Practices Guide 13.0, "Calculating Occupancy".
    """
    registers_per_warp = -(-max(registers, 1) * WARP_THREADS // 256) * 256
    warps_by_registers = target.registers_per_multiprocessor // registers_per_warp
    limits = {
        "blocks": target.blocks_per_multiprocessor,
        "warps": target.warps_per_multiprocessor // num_warps,
        "registers": warps_by_registers // num_warps,
        "shared": target.shared_bytes_per_multiprocessor // (-(-shared_bytes // KIB) * KIB + KIB),
    }
    limited_by = min(limits, key=lambda name: limits[name])
    return limits[limited_by] * num_warps / target.warps_per_multiprocessor, limited_by
