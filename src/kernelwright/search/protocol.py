"""The contract of a strategy.

A strategy depends only on its arguments and on the asks and tells so far. It reads no clock, file,
model or GPU, so a journal replayed into a fresh one gives the same asks.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kernelwright.model import Operator, Request, Trial

MOST_AT_ONCE = 1000
"""Requests, parents or kernels of one round. A round is planned before its first request is asked, so that a number
without measure would plan for ever."""


class Step(NamedTuple):
    """One thing to ask for, before it has a number. parents: trial numbers, the first one the kernel to start from."""

    operator: Operator
    parents: tuple[int, ...]


class Strategy(Protocol):
    """Says what to try. Budgets and stopping belong to the loop."""

    def ask(self) -> Request | None:
        """The next request; None: nothing to start until a trial is reported. None with nothing in flight ends it."""
        ...

    def tell(self, trial: Trial) -> None:
        """One finished trial. Each request is reported once, in any order."""
        ...
