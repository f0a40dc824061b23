"""Limits of each confined role: memory, processor time, processes, and programs to start."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Allowance:
    """Limits of one role. memory_bytes: beyond what the fork maps already. processes: threads count too.

    programs: whether it may start the toolchain's programs (`paths.programs`), and threads.
    """

    memory_bytes: int
    cpu_s: int
    processes: int
    programs: bool = False


RECORDER = Allowance(memory_bytes=4 << 30, cpu_s=60, processes=16)
"""Fake tensors take no memory. Twice the deadline of a recording, after which it is killed anyway."""

COMPILER = Allowance(memory_bytes=8 << 30, cpu_s=600, processes=16 + 2 * (os.cpu_count() or 1), programs=True)
"""More memory than any kernel needs to be compiled: Triton evaluates what a body makes of its constants, a text of
100 GB too. It starts ptxas and cuobjdump, and LLVM has a thread for each core."""

INTERPRETER = Allowance(memory_bytes=8 << 30, cpu_s=3600, processes=16)
"""One process replays a candidate on every draw of every small case; each replay has its own deadline."""

ALLOWANCES = {"recorder": RECORDER, "compiler": COMPILER, "interpreter": INTERPRETER}
"""By role: every process that executes a candidate's text in any form."""
