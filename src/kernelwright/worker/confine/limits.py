"""Resource limits (setrlimit) of a sandboxed process: memory, processor time, file size, open files, processes; and
those of each role, with whether it may start programs.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Allowance:
    """Limits of one role. memory_bytes: address space beyond that which the fork maps already. cpu_s: processor time.
    processes: processes and threads together.

    programs: whether the role may start the toolchain's programs (`paths.programs`) and threads.
    """

    memory_bytes: int
    cpu_s: int
    processes: int
    programs: bool = False


RECORDER = Allowance(memory_bytes=4 << 30, cpu_s=60, processes=16)
"""Limits of a recorder. Fake tensors take no memory. The processor time is twice the deadline of a recording, after
which the recorder is killed anyway."""

COMPILER = Allowance(memory_bytes=8 << 30, cpu_s=600, processes=16 + 2 * (os.cpu_count() or 1), programs=True)
"""Limits of a compiler. No kernel needs that much memory, but Triton evaluates expressions of constants, even a string
of 100 GB. The compiler starts ptxas and cuobjdump, and LLVM has one thread per core."""

INTERPRETER = Allowance(memory_bytes=8 << 30, cpu_s=3600, processes=16)
"""Limits of an interpreter. One process replays a candidate on every draw of every small case; each replay has a
deadline."""

ALLOWANCES = {"recorder": RECORDER, "compiler": COMPILER, "interpreter": INTERPRETER}
"""Limits by role, for every process that executes a candidate's text."""
