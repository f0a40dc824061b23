"""What one recorder may use: address space, processor time, file sizes, open files, processes."""

from __future__ import annotations

import resource
from pathlib import Path

MEMORY_BYTES = 4 << 30
"""Beyond what the fork maps already (20 GiB and more with a CUDA build of torch): fake tensors take none."""

CPU_S = 60
"""Twice the deadline of a recording, after which it is killed anyway."""

FILE_BYTES = 64 << 20
OPEN_FILES = 256

PROCESSES = 16
"""Counted per user, and in a user namespace of its own only there; the kernel exempts the real root."""


def set_limits() -> None:
    """Lower soft and hard limits for good."""
    limit_memory(MEMORY_BYTES)
    for number, value in (
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        lower(number, value)


def limit_memory(more_bytes: int) -> None:
    """Address space: what is mapped now, and `more_bytes`."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    lower(resource.RLIMIT_AS, pages * resource.getpagesize() + more_bytes)


def lower(number: int, value: int) -> None:
    """Set a limit, or keep the hard limit where that is lower already."""
    _, hard = resource.getrlimit(number)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(number, (value, value))


def few_processes() -> None:
    """Only inside of a user namespace: elsewhere the user's other processes count too, and the recorder could not
    even fork."""
    lower(resource.RLIMIT_NPROC, PROCESSES)
