"""A search whose proposer of numbers has tried every config: it ends, and no trial is spent on that."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from fakes import FakeWorker, run_info
from kernelwright.journal import Journal
from kernelwright.model import Budget, Candidate, Proposal, Request
from kernelwright.propose import build_proposer
from kernelwright.propose.protocol import Context, NothingLeft
from kernelwright.run import StopReason, optimize
from kernelwright.search import build_strategy
from proposing import KERNEL

SOURCE = KERNEL.replace("BLOCK = 256", "BLOCK = 240")
"""Warps and stages alone: 240 is no power of two."""
SIZE = 25


@pytest.mark.parametrize("strategy", ["beam", "greedy", "evolve", "random"])
@pytest.mark.parametrize("in_flight", [1, 3])
def test_the_search_ends_when_every_config_was_tried(tmp_path: Path, strategy: str, in_flight: int) -> None:
    starter = Candidate(source=SOURCE)
    info = msgspec.structs.replace(
        run_info(strategy=strategy, proposer="builtin", in_flight=in_flight), starter=starter
    )
    for most in (40, 60):
        made = build_strategy(strategy, starter, 0, {"patience": 100} if strategy != "random" else {})
        exists = (tmp_path / "run" / "journal.db").exists()
        opened = Journal.open(tmp_path / "run", writable=True) if exists else Journal.create(tmp_path / "run", info)
        with opened as journal:
            found = optimize(journal, made, build_proposer("builtin"), FakeWorker(), budget=Budget(trials=most))
            trials = journal.trials()
        assert found.reason is StopReason.FINISHED
        assert re.fullmatch(rf"every config of the source of trial \d+ was tried \({SIZE}\)", found.detail)
        assert [trial.number for trial in trials] == list(range(SIZE))
        assert all(trial.proposal.candidate is not None for trial in trials)


class Two:
    """A proposer of two candidates, each only while no other trial is under way."""

    author, shows_profiles = "two", False

    def answers_at_once(self, request: Request) -> bool:
        return True

    def propose(self, request: Request, context: Context) -> Proposal:
        own = [one for one in context.trials if one.proposal.author == self.author]
        if len(own) == 2 or context.in_flight:
            raise NothingLeft("both were tried")
        return Proposal(author=self.author, candidate=Candidate(source=f"BLOCK = {128 << len(own)}\n"))

    def close(self) -> None:
        """Nothing to close."""


def test_a_trial_under_way_is_waited_for_before_the_search_ends(tmp_path: Path) -> None:
    starter = Candidate(source="BLOCK = 64\n")
    info = msgspec.structs.replace(run_info(strategy="random", proposer="builtin", in_flight=2), starter=starter)
    with Journal.create(tmp_path / "run", info) as journal:
        made = build_strategy("random", starter, 0)
        found = optimize(journal, made, Two(), FakeWorker(), budget=Budget(trials=9))
        proposals = [trial.proposal for trial in journal.trials()]
    assert (found.reason, found.detail) == (StopReason.FINISHED, "both were tried")
    assert [one.author for one in proposals] == ["starter", "two", "two"]
