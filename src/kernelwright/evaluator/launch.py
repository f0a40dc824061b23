"""The place where a worker runs: a table of launchers, by name. A local process is the only one.

A launcher returns an argv whose standard input and output reach a worker. So another one is a function here, such as
one for `ssh`, `srun` or a container.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from kernelwright.evaluator.client import ProcessWorker

Launcher = Callable[[], list[str]]


def local() -> list[str]:
    """A process of this Python on this machine."""
    return [sys.executable, "-m", "kernelwright.worker"]


LAUNCHERS: dict[str, Launcher] = {"local": local}


def start_worker(
    argv: Sequence[str] | None = None,
    target: str | None = None,
    limits: dict[str, float] | None = None,
    cores: int | None = None,
    environment: Mapping[str, str] | None = None,
    is_remote: bool = False,
) -> ProcessWorker:
    """A worker on this machine, or behind `argv` (see `ProcessWorker`)."""
    return ProcessWorker(argv or LAUNCHERS["local"](), target, limits, cores, environment, is_remote)
