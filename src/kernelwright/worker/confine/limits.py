"""Resource limits (setrlimit) of a sandboxed process: memory, processor time, file size, open files, processes."""

from __future__ import annotations

import resource
from pathlib import Path

from kernelwright.worker.confine.allowance import Allowance

FILE_BYTES = 64 << 20
OPEN_FILES = 256


def set_limits(allowance: Allowance) -> None:
    """Lower the soft and hard limits of this process for good, except that of processes."""
    limit_memory(allowance.memory_bytes)
    for number, value in (
        (resource.RLIMIT_CPU, allowance.cpu_s),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        lower(number, value)


def limit_memory(more_bytes: int) -> None:
    """Limit the address space to the mapped memory (20 GiB and more with a CUDA build of torch) plus `more_bytes`."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    lower(resource.RLIMIT_AS, pages * resource.getpagesize() + more_bytes)


def lower(number: int, value: int) -> None:
    """Set a limit, or keep the present hard limit if it is lower."""
    _, hard = resource.getrlimit(number)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(number, (value, value))


def few_processes(allowance: Allowance) -> None:
    """Limit the number of processes and threads. Works only in a user namespace: elsewhere all processes of the user
    count, so that this one could not even fork. Linux exempts the real root."""
    lower(resource.RLIMIT_NPROC, allowance.processes)
