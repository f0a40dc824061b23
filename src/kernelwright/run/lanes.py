"""A thread-safe queue of lane changes, from the threads that notice them to the thread that writes the journal."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from kernelwright.model import LaneChange


class LaneNews:
    """Thread-safe. arrived: a future that is done when changes are queued, so that waiting for futures also ends
    then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[LaneChange] = []
        self.arrived: Future[None] = Future()

    def put(self, change: LaneChange) -> None:
        with self._lock:
            self._found.append(change)
            if not self.arrived.done():
                self.arrived.set_result(None)

    def take(self) -> list[LaneChange]:
        with self._lock:
            found, self._found, self.arrived = self._found, [], Future()
            return found
