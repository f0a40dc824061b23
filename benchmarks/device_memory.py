"""The memory of a device that several problems share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Memory:
    """What problems that are under way at once may take of a device. free: in any unit, finite."""

    def __init__(self, free: float) -> None:
        self.most = self.free = free
        self.changed, self.turn = threading.Condition(), threading.Lock()

    @contextmanager
    def taken(self, size: float) -> Iterator[None]:
        """Waits until `size` is free, or all where that is less. Who comes later waits behind: one that needs much is
        not overtaken by many that need little."""
        size = min(size, self.most)
        with self.turn, self.changed:
            self.changed.wait_for(lambda: size <= self.free)
            self.free -= size
        try:
            yield
        finally:
            with self.changed:
                self.free += size
                self.changed.notify_all()
