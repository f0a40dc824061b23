"""Starts a worker: on this machine by default, or by any command whose standard input and output reach a worker.

`places` makes such commands from `--workers ssh:HOST` and `--workers argv:COMMAND`.
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
