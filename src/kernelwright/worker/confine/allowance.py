"""Resource limits of each sandboxed role: memory, processor time, processes, and whether it may start programs."""

from __future__ import annotations

import os
from dataclasses import dataclass


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
