"""Notifies the watcher of a fleet when its lanes start, are lost, are left out or are quarantined."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernelwright.evaluator.attempts import LostAttempts
from kernelwright.model import Hello, LaneChange


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
