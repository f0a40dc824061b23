"""What a fleet is made of: the worker of a lane, what all of them do first, and a job that took two of them down."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernelwright.errors import WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Hello, Status


class LaneWorker(Worker, Protocol):
    """A worker that raises `WorkerLost` when its process is gone."""

    hello: Hello


class TookDown(WorkerError):
    """A job under which two lanes were lost. status: what that says of a candidate."""

    status = Status.CRASHED


@dataclass(eq=False)
class Step:
    """What every lane does before it gets jobs; also one that is started later. result: of the first lane."""

    do: Callable[[Worker], Any]
    result: Future[Any] = field(default_factory=Future)

    @property
    def failed(self) -> bool:
        return self.result.done() and self.result.exception() is not None
