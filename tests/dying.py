"""A program that runs a real search with the fakes and kills itself, with SIGKILL, after the Nth event it writes.

    python dying.py FOLDER N [IN_FLIGHT]

N = 0: never. FOLDER holds a run to resume, or becomes a new one. Calls of the fakes are noted in FOLDER/../calls.log.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from fakes import FakeProposer, FakeWorker, run_info, step
from kernelwright.journal import Event, Journal
from kernelwright.model import Budget, Proposal, Request, RunInfo
from kernelwright.propose.protocol import Context
from kernelwright.run import Outcome, optimize
from kernelwright.search import build_strategy

OPTIONS = {"width": 2, "rounds": 3, "repairs": 1}


def info(in_flight: int = 1) -> RunInfo:
    return run_info(strategy_options=OPTIONS, in_flight=in_flight)


def step_or_error(request: Request, context: Context) -> Proposal:
    """One of the proposals is an error, so that every way through the stages is taken."""
    return Proposal(author="fake", error="no code in the reply") if request.number == 4 else step(request, context)


class DyingJournal(Journal):
    die_after = 0

    def _append(self, kind: Any, number: Any, payload: Any) -> Event:
        event = super()._append(kind, number, payload)
        self.die_after -= 1
        if self.die_after == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return event


def session(journal: Journal) -> Outcome:
    """One session of the search, whatever was done of it before."""
    log = journal.folder.parent / "calls.log"
    settings = journal.info.settings
    return optimize(
        journal,
        build_strategy(settings.strategy, journal.info.starter, settings.seed, settings.strategy_options),
        FakeProposer(step_or_error, log=log, shows_profiles=True),
        FakeWorker(log=log),
        budget=Budget(),
    )


if __name__ == "__main__":
    folder, die_after, in_flight = Path(sys.argv[1]), int(sys.argv[2]), int((*sys.argv, "1")[3])
    exists = (folder / "journal.db").exists()
    journal = DyingJournal.open(folder, writable=True) if exists else DyingJournal.create(folder, info(in_flight))
    assert isinstance(journal, DyingJournal)
    journal.die_after = die_after
    with journal:
        session(journal)
