"""Starts a worker on this machine, or by any command whose standard input and output are connected to a worker.

`places` builds such commands from `--workers ssh:HOST` and `--workers argv:COMMAND`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from kernelwright.evaluator.client import HELLO_S, ProcessWorker, warn
from kernelwright.python import python

Launcher = Callable[[], list[str]]

WEAK_SANDBOX = "KERNELWRIGHT_WEAK_SANDBOX"
"""Environment variable of the coordinator: 1 allows workers of this machine what `--weak-sandbox` allows."""


def local() -> list[str]:
    """The command of a worker process on this machine, with this Python."""
    return python("-m", "kernelwright.worker", *["--weak-sandbox"] * (os.environ.get(WEAK_SANDBOX) == "1"))


LAUNCHERS: dict[str, Launcher] = {"local": local}


def start_worker(
    argv: Sequence[str] | None = None,
    target: str | None = None,
    limits: dict[str, float] | None = None,
    environment: Mapping[str, str] | None = None,
    is_remote: bool = False,
    hello_s: float = HELLO_S,
    notify: Callable[[str], object] = warn,
) -> ProcessWorker:
    """A worker on this machine, or the one that `argv` starts (see `ProcessWorker` for all arguments)."""
    return ProcessWorker(argv or LAUNCHERS["local"](), target, limits, environment, is_remote, hello_s, notify)
