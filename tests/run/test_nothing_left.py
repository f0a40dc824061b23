"""A search whose proposer of numbers has tried every config: it ends, and no trial is spent on that."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from fakes import FakeWorker, run_info
from kernelwright.journal import Journal
from kernelwright.model import Budget, Candidate
from kernelwright.propose import build_proposer
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
