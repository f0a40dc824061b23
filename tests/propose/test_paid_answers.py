"""Answers that were paid for: recorded when they come, taken from the record after a kill, counted in every total."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from fakes import FakeProposer, FakeWorker, run_info
from kernelwright.journal import Journal
from kernelwright.llm.protocol import Reply
from kernelwright.model import Answered, Budget, Operator, Proposal, Request, Usage
from kernelwright.propose import Proposer
from kernelwright.propose.model import ModelProposer
from kernelwright.report.cost import cost_sections, run_usage
from kernelwright.report.view import read_run
from kernelwright.run import Outcome, StopReason, optimize
from kernelwright.search import build_strategy
from kernelwright.text.table import section_text
from proposing import OTHER, REPLY, Blobs, asked_for, context, passed, starter, trial

pytestmark = pytest.mark.process

IMPROVE = Request(number=2, operator=Operator.IMPROVE, parents=(0,))
SLOWER = trial(1, OTHER, evaluation=passed(300.0), parents=(0,), note="adds instead")
LESSON = "Lesson: load once.\n"
NOWHERE = "```diff\n@@\n-BLOCK = 257\n+BLOCK = 1024\n```\n"
COST = Usage(input_tokens=10, output_tokens=5, cost_usd=0.5, requests=1)


class Killed(BaseException):
    """In place of a SIGKILL, which no test in this process survives."""


class Provider:
    """Answers by the kind of the prompt, and is killed with its process before it answers the kind `dies`."""

    def __init__(self, dies: str = "", kernel: str = REPLY) -> None:
        self.asked: list[str] = []
        self._dies, self._kernel = dies, kernel

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        kind = asked_for(prompt)
        if kind == self._dies:
            raise Killed
        self.asked.append(kind)
        return Reply({"reflect": LESSON, "plan": "Widen.", "kernel": self._kernel}.get(kind, REPLY), COST, "stop")

    def close(self) -> None:
        """Nothing to let go of."""


def proposed(provider: Provider, kept: list[Answered], blobs: Blobs, edits: str = "whole") -> Proposal:
    """One conversation; what it pays for is added to `kept`."""
    answers = {number: tuple(one for one in kept if one.trial == number) for number in {one.trial for one in kept}}
    told = context(starter(), SLOWER, blobs=blobs)
    told = type(told)(**{**told.__dict__, "answers": answers, "keep_answer": kept.append})
    return ModelProposer(provider, "openai:m", msgspec.convert(edits, str), plan=True).propose(IMPROVE, told)  # type: ignore[arg-type]


@pytest.mark.parametrize("dies", ["plan", "kernel", "mend"])
def test_after_a_kill_only_what_was_not_answered_is_paid_for(dies: str) -> None:
    edits, kernel = ("diff", NOWHERE) if dies == "mend" else ("whole", REPLY)
    kept: list[Answered] = []
    blobs = Blobs()
    with pytest.raises(Killed):
        proposed(Provider(dies, kernel), kept, blobs, edits)
    before = [one.kind for one in kept]
    assert before == ["reflect", "plan", "kernel", "mend"][: ["reflect", "plan", "kernel", "mend"].index(dies)]
    second = Provider(kernel=kernel)
    resumed = proposed(second, kept, blobs, edits)
    undisturbed_kept: list[Answered] = []
    whole = proposed(Provider(kernel=kernel), undisturbed_kept, Blobs(), edits)
    assert [*before, *second.asked] == [one.kind for one in undisturbed_kept]
    assert resumed == whole
    assert resumed.usage.requests == len(undisturbed_kept)


def test_a_surprise_that_an_earlier_session_asked_about_for_another_request_is_not_asked_about_again() -> None:
    kept: list[Answered] = []
    with pytest.raises(Killed):
        proposed(Provider("plan"), kept, Blobs())
    told = context(starter(), SLOWER)
    told = type(told)(**{**told.__dict__, "answers": {2: tuple(kept)}})
    provider = Provider()
    ModelProposer(provider, "openai:m").propose(msgspec.structs.replace(IMPROVE, number=3), told)
    assert provider.asked == ["kernel"]


# --- in a run ---------------------------------------------------------------------------------------------------


def session(journal: Journal, proposer: Proposer, budget: Budget) -> Outcome:
    return optimize(journal, build_strategy("greedy", starter().proposal.candidate, 0), proposer, FakeWorker(),
                    budget=budget)  # fmt: skip


def killed_after_the_plan(folder: Path) -> None:
    """A run whose process is killed, with SIGKILL, while it waits for the first kernel."""
    pid = os.fork()
    if pid == 0:
        with Journal.create(folder, run_info(strategy="greedy", starter=starter().proposal.candidate)) as journal:
            session(journal, ModelProposer(SuicidalProvider(), "openai:m", plan=True), Budget(trials=3))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9


class SuicidalProvider(Provider):
    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        if asked_for(prompt) != "plan":
            os.kill(os.getpid(), 9)
        return super().complete(system, prompt)


def test_the_totals_know_a_plan_whose_kernel_never_came_and_a_resumed_run_pays_only_for_the_kernel(
    tmp_path: Path,
) -> None:
    killed_after_the_plan(tmp_path / "run")
    with Journal.open(tmp_path / "run") as journal:
        view = read_run(journal)
        assert run_usage(view) == COST
        text = "\n".join(map(section_text, cost_sections(view)))
        assert "models: 10 tokens in, 5 out, 0.5000 USD" in text
        assert "not finished" in text
    provider = Provider()
    with Journal.open(tmp_path / "run", writable=True) as journal:
        outcome = session(journal, ModelProposer(provider, "openai:m", plan=True), Budget(trials=2))
        assert outcome.reason is StopReason.TRIALS
        assert provider.asked == ["kernel"]
        assert run_usage(read_run(journal)).requests == 2


def test_an_answer_without_a_proposal_counts_against_the_budget(tmp_path: Path) -> None:
    killed_after_the_plan(tmp_path / "run")
    with Journal.open(tmp_path / "run", writable=True) as journal:
        outcome = session(journal, FakeProposer(free), Budget(tokens=20))
        assert outcome.reason is StopReason.TOKENS, "15 are spent, and another answer may take 15"


def free(request: Request, given: object) -> Proposal:
    return Proposal(author="fake", error="nothing", usage=COST)
