"""Callbacks that start a job's worker and print its messages. The caller of the job gives both."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from kernelwright.evaluator.launch import start_worker
from kernelwright.evaluator.protocol import Worker

StartWorker = Callable[[str | None], AbstractContextManager[Worker]]
"""Takes a compile target (None: the machine's own). Leaving the context ends the worker and everything that it
started."""

Notify = Callable[[str], None]
"""Takes one message to the user."""


def local_worker(target: str | None) -> AbstractContextManager[Worker]:
    """A worker on this machine; raises `MachineError` where torch or Triton is missing."""
    return start_worker(target=target)
