"""The contract of a strategy.

The one rule: a strategy depends only on its arguments and on the asks and tells so far. It reads no clock, file,
model or GPU, so a journal replayed into a fresh one gives the same asks.
"""

from __future__ import annotations

from typing import Protocol

from kernelwright.model import Request, Trial


class Strategy(Protocol):
    """Says what to try. Budgets and stopping belong to the loop."""

    def ask(self) -> Request | None:
        """The next request; None: nothing to start until more is told. None with nothing in flight ends it."""
        ...

    def tell(self, trial: Trial) -> None:
        """One finished trial. Each request is told once, in any order."""
        ...
