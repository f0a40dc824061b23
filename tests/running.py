"""One session of a search in this process, with the fakes for worker and proposer, for tests of the loop.

Journal, strategy and loop are the real ones. A session is made from its journal alone, so calling `run`
again resumes it.
"""

from __future__ import annotations

from collections.abc import Callable

from fakes import FakeProposer, FakeWorker
from kernelwright.journal import Event, Journal
from kernelwright.model import Budget
from kernelwright.run import Outcome, optimize
from kernelwright.search import build_strategy

Create = Callable[..., Journal]
"""The fixture `create` of tests/run: a new journal from fields of `RunSettings`."""


def run(
    journal: Journal,
    proposer: FakeProposer | None = None,
    worker: FakeWorker | None = None,
    budget: Budget | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Outcome:
    settings = journal.info.settings
    strategy = build_strategy(settings.strategy, journal.info.starter, settings.seed, settings.strategy_options)
    proposer, worker = proposer or FakeProposer(), worker or FakeWorker()
    return optimize(journal, strategy, proposer, worker, budget=budget or Budget(), on_event=on_event)
