"""A fake worker in place of the one that a job starts."""

from __future__ import annotations

from contextlib import closing

from fakes import FakeWorker
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.worker import StartWorker


def starting(worker: Worker | None = None) -> StartWorker:
    """Gives this worker (None: a new fake one each time) for any target, and closes it."""
    return lambda target: closing(worker or FakeWorker())
