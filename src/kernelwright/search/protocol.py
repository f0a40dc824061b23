"""The protocol of a search strategy: `ask` for requests, `tell` it finished trials.

A strategy depends only on its arguments and on the asks and tells so far. It reads no clock, file, model or GPU, so
that replaying a journal into a fresh strategy gives the same requests.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kernelwright.model import Operator, Request, Trial

PATIENCE = 8
"""Trials in a row without a new candidate after which a strategy gives up. Even if every second answer were useless,
eight in a row would have a probability of only 0.4 % (0.5**8)."""

MOST_AT_ONCE = 1000
"""Upper limit for the requests, parents or kernels of one round. A round is planned completely before its first
request, so planning an unlimited number would never end."""


class Step(NamedTuple):
    """A request before it has a number. parents: trial numbers; the first one is the kernel to start from."""

    operator: Operator
    parents: tuple[int, ...]


class Strategy(Protocol):
    """Decides what to try next. Budgets and stopping belong to the loop."""

    def ask(self) -> Request | None:
        """The next request. None: there is nothing to start until a trial is reported; None with no request in flight
        ends the search."""
        ...

    def tell(self, trial: Trial) -> None:
        """Reports one finished trial. Each request is reported once, or again if its compilers were killed
        (`Evaluation.killed`) and a resumed run judged it again; the order is free."""
        ...


class Staleness:
    """Detects a search that finds no new candidates. count: results since the last one. Only a candidate that no trial
    had before is new; an answer without a candidate and a repeated candidate are not."""

    def __init__(self) -> None:
        self.count = 0
        self._seen: set[str] = set()

    def tell(self, trial: Trial) -> None:
        candidate = trial.proposal.candidate
        if candidate is not None and candidate.id not in self._seen:
            if trial.evaluation is None or not trial.evaluation.killed:
                self._seen.add(candidate.id)
            self.count = 0
        else:
            self.count += 1
