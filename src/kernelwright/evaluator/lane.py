"""Types of a fleet's lanes: a lane's worker, a setup step of all lanes, the error of a job that crashed two lanes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernelwright.errors import WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Hello, Status


class LaneWorker(Worker, Protocol):
    """A worker whose calls raise `WorkerLost` when its process is gone. hello: its first message."""

    hello: Hello


class TookDown(WorkerError):
    """Raised for a job under which two lanes were lost. status: the status that the candidate gets."""

    status = Status.CRASHED


@dataclass(eq=False)
class Step:
    """A setup step (such as load) that every lane does before it gets jobs, also lanes that start later. result: of the
    first lane."""

    do: Callable[[Worker], Any]
    result: Future[Any] = field(default_factory=Future)

    @property
    def failed(self) -> bool:
        return self.result.done() and self.result.exception() is not None
