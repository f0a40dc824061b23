"""Proposers in a whole run: budgets that hold over HTTP, replies by file across sessions, runs replayed.

Worker and device are functions; journal, loop, strategy and HTTP are the real ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from fakes import FakeWorker, run_info
from kernelwright.errors import ProviderError
from kernelwright.journal import Journal
from kernelwright.model import Budget, Candidate, Scalar
from kernelwright.propose import Proposer, build_proposer, deposit_reply, prompt_path
from kernelwright.run import Outcome, StopReason, optimize
from kernelwright.search import build_strategy
from llm_server import LlmServer, Scripted, chat, llm_server
from proposing import KERNEL

STARTER = Candidate(source=KERNEL)


def session(run: Path, proposer: Proposer, budget: Budget, resume: bool = False) -> Outcome:
    """One session of a greedy run; a new one is created with the starter."""
    info = run_info(strategy="greedy", starter=STARTER)
    with Journal.open(run, writable=True) if resume else Journal.create(run, info) as journal:
        try:
            return optimize(journal, build_strategy("greedy", STARTER, 0), proposer, FakeWorker(), budget=budget)
        finally:
            proposer.close()


def reply(block: int) -> str:
    return f"Note: block {block}.\n\n```python\n{KERNEL.replace('BLOCK = 256', f'BLOCK = {block}')}```\n"


def of_server(server: LlmServer, **options: Scalar) -> Proposer:
    return build_proposer(
        "openai", {"model": "m", "base_url": server.url, "attempts": 1, "reflect": False, **options}, {}
    )


def replies(blocks: Iterable[int]) -> list[Scripted]:
    """Each is counted as 100 tokens in and 20 out."""
    return [chat(reply(block)) for block in blocks]


def test_a_budget_of_tokens_ends_the_run_before_it_is_passed(tmp_path: Path) -> None:
    with llm_server(*replies([128, 512, 1024, 64, 32])) as server:
        outcome = session(tmp_path / "run", of_server(server), Budget(tokens=400))
        assert len(server.seen) == 3, "3 · 120 fit into 400, and a fourth would not"
    assert outcome.reason is StopReason.TOKENS
    assert outcome.best not in (None, outcome.seed)


def test_a_budget_of_money_ends_the_run_before_it_is_passed(tmp_path: Path) -> None:
    with llm_server(*replies([128, 512, 1024])) as server:
        proposer = of_server(server, input_usd_per_mtok=1000.0, output_usd_per_mtok=1000.0)
        outcome = session(tmp_path / "run", proposer, Budget(usd=0.25))
        assert len(server.seen) == 2, "each costs 0.12"
    assert outcome.reason is StopReason.USD


def test_a_run_that_a_provider_stopped_goes_on_later_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    with llm_server(*replies([512]), Scripted(503, {})) as server:
        with pytest.raises(ProviderError, match="status 503"):
            session(tmp_path / "run", of_server(server), Budget(trials=4))
        assert len(server.seen) == 2
    with llm_server(*replies([1024, 128])) as server:
        outcome = session(tmp_path / "run", of_server(server), Budget(trials=4), resume=True)
        assert len(server.seen) == 2
    assert outcome.reason is StopReason.TRIALS
    with Journal.open(tmp_path / "run") as journal:
        assert [trial.proposal.note for trial in journal.trials()] == ["", "block 512.", "block 1024.", "block 128."]
        prompts = [journal.blob(trial.proposal.prompt) for trial in journal.trials() if trial.proposal.prompt]
    assert "| 1 | improve | 0 | openai:m | block 512. |" in prompts[1], "what was tried is told"


def test_a_mailbox_run_waits_is_answered_by_file_and_goes_on(tmp_path: Path) -> None:
    run, answer = tmp_path / "run", tmp_path / "answer.md"
    first = session(run, build_proposer("mailbox"), Budget(trials=3))
    assert (first.reason, first.waiting) == (StopReason.WAITING, (1,))
    assert prompt_path(run, 1).is_file()
    again = session(run, build_proposer("mailbox"), Budget(trials=3), resume=True)
    assert again.waiting == (1,)
    answer.write_text("author: Ada\n" + reply(512), encoding="utf-8")
    deposit_reply(run, 1, answer)
    second = session(run, build_proposer("mailbox"), Budget(trials=3), resume=True)
    assert second.waiting == (2,)
    (run / "mailbox" / "002.reply.py").write_text(KERNEL.replace("BLOCK = 256", "BLOCK = 1024"), encoding="utf-8")
    last = session(run, build_proposer("mailbox"), Budget(trials=3), resume=True)
    assert last.reason is StopReason.TRIALS
    assert last.best == 1
    with Journal.open(run) as journal:
        authors = [trial.proposal.author for trial in journal.trials()]
    assert authors == ["starter", "mailbox:Ada", "mailbox:unnamed"]


def test_a_recorded_run_is_replayed_without_a_provider(tmp_path: Path) -> None:
    with llm_server(*replies([512, 1024, 128])) as server:
        recorded = session(tmp_path / "one", of_server(server), Budget(trials=4))
    replayed = session(tmp_path / "two", build_proposer("replay", {"run": str(tmp_path / "one")}), Budget(trials=4))
    assert (replayed.best, replayed.best_us, replayed.reason) == (recorded.best, recorded.best_us, recorded.reason)
    with Journal.open(tmp_path / "one") as one, Journal.open(tmp_path / "two") as two:
        assert [t.proposal.candidate for t in one.trials()] == [t.proposal.candidate for t in two.trials()]
        assert two.trials()[1].proposal.author == "replay:one"


def test_the_builtin_proposer_finds_the_fastest_block_of_the_fake_device(tmp_path: Path) -> None:
    outcome = session(tmp_path / "run", build_proposer("builtin"), Budget(trials=12))
    assert outcome.best not in (None, outcome.seed)
    assert outcome.best_us == pytest.approx(101.0), "a block of 512, with what confirmation adds"
