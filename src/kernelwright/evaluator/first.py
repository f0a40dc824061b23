"""The first incumbent of a fleet: the first passed candidate, which others race until the search has a best."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kernelwright.model import Incumbent

MOST_ALONE = 4
"""Largest number of candidates that are evaluated without a race at once, before one has passed: enough to keep one GPU
busy. Without a limit all candidates at the start of a search would wait for one lane."""


class FirstPassed:
    """The first candidate that passed. gpu: the GPU on which it was timed. Both are None before one has passed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._alone = 0
        self.gpu: str | None = None
        self.incumbent: Incumbent | None = None

    def passed(self, gpu: str, incumbent: Incumbent) -> None:
        """Set the incumbent; only the first call has an effect."""
        with self._changed:
            if self.incumbent is None:
                self.gpu, self.incumbent = gpu, incumbent
                self._changed.notify_all()

    @contextmanager
    def sought(self) -> Iterator[bool]:
        """Give True if a candidate is to be timed without a race, False once one has passed. Before that, calls beyond
        `MOST_ALONE` wait."""
        with self._changed:
            self._changed.wait_for(lambda: self.incumbent is not None or self._alone < MOST_ALONE)
            is_alone = self.incumbent is None
            self._alone += is_alone
        try:
            yield is_alone
        finally:
            with self._changed:
                self._alone -= is_alone
                self._changed.notify_all()
