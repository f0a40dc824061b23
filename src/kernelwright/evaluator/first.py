"""The first candidate that passed, timed alone on one GPU: what others race against until the search has a best."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kernelwright.model import Incumbent

MOST_ALONE = 4
"""Candidates that are timed alone at once, before one has passed: as many as keep one GPU busy. Without a limit all
that is under way at the start of a search would wait for one lane."""


class FirstPassed:
    """gpu: on which it was timed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._alone = 0
        self.gpu: str | None = None
        self.incumbent: Incumbent | None = None

    def passed(self, gpu: str, incumbent: Incumbent) -> None:
        """The first one counts."""
        with self._changed:
            if self.incumbent is None:
                self.gpu, self.incumbent = gpu, incumbent
                self._changed.notify_all()

    @contextmanager
    def sought(self) -> Iterator[bool]:
        """Whether a candidate is to be timed alone, now; False once one has passed. Until then it waits for others."""
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
