"""A process that runs a real search with the fakes and kills itself, with SIGKILL, after the Nth event that it appends
(which may not be committed then), or after its Nth commit.

N = 0: never. Its folder holds a run to resume, or becomes a new one. Calls of the fakes are noted in calls.log beside
the folder.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fakes import FakeProposer, FakeWorker, run_info, step
from kernelwright.journal import Event, Journal
from kernelwright.llm.protocol import Reply
from kernelwright.model import Budget, Proposal, Request, RunInfo, Usage
from kernelwright.propose.conversation import Conversation
from kernelwright.propose.prompt import Prompt
from kernelwright.propose.protocol import Context
from kernelwright.run import Outcome, optimize
from kernelwright.search import build_strategy

OPTIONS = {"width": 2, "rounds": 3, "repairs": 1}


def info(in_flight: int = 1) -> RunInfo:
    return run_info(strategy_options=OPTIONS, in_flight=in_flight)


class Paid:
    """A provider that notes what it was asked for."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        with self._log.open("a") as file:
            file.write(f"pay {prompt}\n")
        return Reply(f"reply to {prompt}", Usage(input_tokens=10, cost_usd=0.01, requests=1), "stop")

    def close(self) -> None:
        """Nothing to let go of."""


class TwiceAsked:
    """A proposal takes two answers, and one of the proposals is an error, so that every way through the stages is
    taken."""

    def __init__(self, log: Path) -> None:
        self._provider = Paid(log)

    def __call__(self, request: Request, context: Context) -> Proposal:
        conversation = Conversation(self._provider, request.number, context)
        plan = conversation.ask("plan", Prompt("", f"plan {request.number}"))
        conversation.ask("kernel", Prompt("", f"kernel {request.number} after {plan.text}"))
        found = step(request, context)
        given = {"usage": conversation.usage, "exchanges": conversation.exchanges}
        if request.number == 4:
            return Proposal(author="fake", error="no code in the reply", **given)
        return Proposal(author="fake", candidate=found.candidate, **given)


class DyingJournal(Journal):
    die_after = 0
    die_after_commits = 0
    _is_together = False

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        before = self._last_seq()
        with super().together():
            self._is_together = True
            try:
                yield
            finally:
                self._is_together = False
        if self._last_seq() > before:
            self._committed()

    def _append(self, kind: Any, number: Any, payload: Any) -> Event:
        event = super()._append(kind, number, payload)
        self.die_after -= 1
        if self.die_after == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if not self._is_together:
            self._committed()
        return event

    def _committed(self) -> None:
        self.die_after_commits -= 1
        if self.die_after_commits == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def session(journal: Journal) -> Outcome:
    """One session of the search, whatever was done of it before."""
    log = journal.folder.parent / "calls.log"
    settings = journal.info.settings
    return optimize(
        journal,
        build_strategy(settings.strategy, journal.info.starter, settings.seed, settings.strategy_options),
        FakeProposer(TwiceAsked(log), shows_profiles=True),
        FakeWorker(log=log),
        budget=Budget(),
    )


def live(folder: Path, die_after: int, in_flight: int, errors: Path, die_after_commits: int = 0) -> None:
    """What the process does. errors: the file that takes its standard error."""
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    exists = (folder / "journal.db").exists()
    journal = DyingJournal.open(folder, writable=True) if exists else DyingJournal.create(folder, info(in_flight))
    assert isinstance(journal, DyingJournal)
    journal.die_after, journal.die_after_commits = die_after, die_after_commits
    with journal:
        session(journal)
