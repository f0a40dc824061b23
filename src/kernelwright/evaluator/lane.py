"""Types of a fleet's lanes: a lane's worker, a setup step of all lanes, the error of a job that crashed two lanes; and
the notices that lanes start, are lost, are left out or are quarantined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernelwright.errors import WorkerError
from kernelwright.evaluator.attempts import LostAttempts
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Hello, LaneChange, Status


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


class Announcer:
    """Sends `LaneChange` records to one callback. Not thread-safe: the fleet calls it while it has its lock."""

    def __init__(self) -> None:
        self._notify: Callable[[LaneChange], None] = lambda change: None
        self._up: dict[str, Hello] = {}

    def watch(self, notify: Callable[[LaneChange], None] | None, up: Mapping[str, Hello]) -> None:
        """Replace the callback and notify it of the ready lanes. up: the `Hello` of each ready lane's worker."""
        self._notify, self._up = notify or (lambda change: None), {}
        for name, hello in up.items():
            self.up(name, hello)

    def up(self, name: str, hello: Hello) -> None:
        """A lane is ready. Notifies once for each worker that the lane gets."""
        if self._up.get(name) is not hello:
            self._up[name] = hello
            where = LaneChange(lane=name, what="up", device=hello.device, gpu=hello.gpu or "", host=hello.host)
            self._notify(where)

    def lost(self, name: str, reason: str, lost: LostAttempts) -> None:
        """A lane was lost. Does not notify for a lane that was not up."""
        if self._up.pop(name, None) is not None:
            change = LaneChange(lane=name, what="lost", reason=reason, evaluations=lost.count, seconds=lost.seconds)
            self._notify(change)

    def left_out(self, name: str, reason: str) -> None:
        self._notify(LaneChange(lane=name, what="left out", reason=reason))

    def quarantined(self, name: str, reason: str) -> None:
        self._notify(LaneChange(lane=name, what="quarantined", reason=reason))
