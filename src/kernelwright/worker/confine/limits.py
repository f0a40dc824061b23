"""Resource limits of one confined process: address space, processor time, file sizes, open files, processes."""

from __future__ import annotations

import resource
from pathlib import Path

from kernelwright.worker.confine.allowance import Allowance

FILE_BYTES = 64 << 20
OPEN_FILES = 256


def set_limits(allowance: Allowance) -> None:
    """Lower soft and hard limits for good."""
    limit_memory(allowance.memory_bytes)
    for number, value in (
        (resource.RLIMIT_CPU, allowance.cpu_s),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        lower(number, value)


def limit_memory(more_bytes: int) -> None:
    """Address space: what is mapped now (20 GiB and more with a CUDA build of torch), and `more_bytes`."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    lower(resource.RLIMIT_AS, pages * resource.getpagesize() + more_bytes)


def lower(number: int, value: int) -> None:
    """Set a limit, or keep the hard limit where that is lower already."""
    _, hard = resource.getrlimit(number)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(number, (value, value))


def few_processes(allowance: Allowance) -> None:
    """Only inside of a user namespace, where only its own processes count: elsewhere the user's others do too, and it
    could not even fork. The kernel exempts the real root."""
    lower(resource.RLIMIT_NPROC, allowance.processes)
