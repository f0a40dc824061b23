"""What a model is asked beside the kernel: reflection after a surprise, a plan, a diff once more. All of it is kept."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from kernelwright.errors import ProviderError
from kernelwright.llm.protocol import Reply
from kernelwright.model import Candidate, Operator, Proposal, Request, Trial, Usage
from kernelwright.propose.model import ModelProposer
from kernelwright.propose.prompt import Edits
from proposing import KERNEL, OTHER, REPLY, Blobs, context, passed, starter, trial
from proposing import asked_for as kind

IMPROVE = Request(number=2, operator=Operator.IMPROVE, parents=(0,))
SLOWER = trial(1, OTHER, evaluation=passed(300.0), parents=(0,), note="adds instead")
LESSON = "Adding twice loads twice.\n\nLesson: load once.\nClaim: registers up\n"
DIFF = "Note: wider.\nExpect: 1.5x\n\n```diff\n@@\n \n-BLOCK = 256\n+BLOCK = 1024\n \n```\n"
NOWHERE = DIFF.replace("BLOCK = 256", "BLOCK = 257")


class Scripted:
    """A provider that answers by what the prompt asks for, and remembers."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.asked: list[str] = []
        self._answer = answer

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        self.asked.append(prompt)
        return Reply(self._answer(prompt), Usage(input_tokens=10, output_tokens=5, cost_usd=0.5, requests=1), "stop")

    def close(self) -> None:
        """Nothing to let go of."""


def proposed(
    *trials: Trial,
    answer: Callable[[str], str] = lambda prompt: LESSON if kind(prompt) == "reflect" else REPLY,
    edits: Edits = "whole",
    plan: bool = False,
    reflect: bool = True,
    request: Request = IMPROVE,
) -> tuple[Proposal, list[str], Blobs]:
    blobs, provider = Blobs(), Scripted(answer)
    proposer = ModelProposer(provider, "openai:m", edits, plan, reflect)
    return proposer.propose(request, context(starter(), *trials, blobs=blobs)), provider.asked, blobs


def test_without_a_surprise_nothing_but_the_kernel_is_asked_for() -> None:
    proposal, asked, _ = proposed(trial(1, OTHER, evaluation=passed(95.0), parents=(0,)))
    assert [kind(prompt) for prompt in asked] == ["kernel"]
    assert (proposal.exchanges, proposal.reflection, proposal.edit) == ((), None, None)


def test_after_a_surprise_the_model_is_asked_why_with_diff_and_counters_and_both_requests_are_counted() -> None:
    proposal, asked, blobs = proposed(SLOWER)
    assert [kind(prompt) for prompt in asked] == ["reflect", "kernel"]
    assert "a gain was expected, and it is 3.00× as slow" in asked[0]
    assert "Its author said: adds instead" in asked[0]
    assert "-        tl.store(y + offsets, 2 * tl.load" in asked[0]
    assert "None is known of either." in asked[0]
    assert proposal.usage == Usage(input_tokens=20, output_tokens=10, cost_usd=1.0, requests=2)
    (exchange,) = proposal.exchanges
    assert (exchange.kind, blobs[exchange.reply]) == ("reflect", LESSON)
    assert asked[0] in blobs[exchange.prompt]
    assert proposal.reflection is not None
    assert (proposal.reflection.trial, proposal.reflection.lesson) == (1, "load once.")
    assert [claim.holds for claim in proposal.reflection.claims] == [None], "no counter is known here"


def test_a_surprise_is_asked_about_once_in_a_session_and_never_where_that_is_switched_off() -> None:
    provider = Scripted(lambda prompt: LESSON if kind(prompt) == "reflect" else REPLY)
    proposer = ModelProposer(provider, "openai:m")
    for number in (2, 3):
        proposer.propose(msgspec.structs.replace(IMPROVE, number=number), context(starter(), SLOWER))
    assert [kind(prompt) for prompt in provider.asked] == ["reflect", "kernel", "kernel"]
    assert [kind(prompt) for prompt in proposed(SLOWER, reflect=False)[1]] == ["kernel"]


def test_a_plan_is_asked_for_first_and_shown_with_the_task() -> None:
    proposal, asked, _ = proposed(
        plan=True, answer=lambda prompt: "Widen the block." if kind(prompt) == "plan" else REPLY
    )
    assert [kind(prompt) for prompt in asked] == ["plan", "kernel"]
    assert "# Make `double` faster" in asked[0]
    assert asked[1].endswith("## Your plan\n\nWiden the block.\n")
    assert [exchange.kind for exchange in proposal.exchanges] == ["plan"]
    assert proposal.candidate is not None


def test_a_diff_is_applied_to_the_kernel_that_was_shown() -> None:
    proposal, asked, blobs = proposed(edits="diff", answer=lambda prompt: DIFF)
    assert proposal.candidate == Candidate(source=KERNEL.replace("BLOCK = 256", "BLOCK = 1024"))
    assert (proposal.edit, proposal.note, proposal.expected) == ("applied", "wider.", 1.5)
    assert len(asked) == 1
    assert "Answer with a diff against trial 0." in blobs[proposal.prompt or ""]


@pytest.mark.parametrize("second", [DIFF, REPLY], ids=["a diff", "the whole module"])
def test_a_diff_that_does_not_apply_is_asked_for_once_more_with_the_reason(second: str) -> None:
    proposal, asked, _ = proposed(edits="diff", answer=lambda prompt: second if kind(prompt) == "mend" else NOWHERE)
    assert proposal.candidate == Candidate(source=KERNEL.replace("BLOCK = 256", "BLOCK = 1024"))
    assert proposal.edit == "mended"
    assert [kind(prompt) for prompt in asked] == ["kernel", "mend"]
    assert "hunk 1 of the diff fits nowhere" in asked[1]
    assert KERNEL.strip() in asked[1]
    assert [exchange.kind for exchange in proposal.exchanges] == ["mend"]


def test_a_diff_that_never_applies_is_an_error_and_counted_as_such() -> None:
    proposal, asked, _ = proposed(edits="diff", answer=lambda prompt: NOWHERE)
    assert (proposal.candidate, proposal.edit, len(asked)) == (None, "failed", 2)
    assert "the second time as well" in (proposal.error or "")


def test_a_whole_module_is_taken_where_a_diff_was_asked_for_and_nothing_else_for_a_seed() -> None:
    assert proposed(edits="diff")[0].edit is None
    seed, _, blobs = proposed(edits="diff", request=Request(number=2, operator=Operator.SEED))
    assert seed.candidate is not None
    assert "opened with three backticks and `python`" in blobs[seed.prompt or ""]


def test_lessons_that_stand_and_cards_are_in_the_next_prompt() -> None:
    _, asked, _ = proposed()
    assert "What surprises have taught" not in asked[0]
    provider = Scripted(lambda prompt: REPLY)
    told = context(starter(), SLOWER)
    ModelProposer(provider, "openai:m", reflect=False).propose(
        IMPROVE, type(told)(**{**told.__dict__, "lessons": ("Rows spill (2026-01-01, rmsnorm, H200).",)})
    )
    assert "## What surprises have taught\n\n- Rows spill (2026-01-01, rmsnorm, H200).\n" in provider.asked[0]


def failing(when: str) -> Callable[[str], str]:
    def answer(prompt: str) -> str:
        if kind(prompt) == when:
            raise ProviderError("gave up")
        return NOWHERE

    return answer


def test_what_was_paid_for_is_kept_where_the_provider_fails_after_it() -> None:
    proposal, _, blobs = proposed(plan=True, answer=failing("kernel"))
    assert proposal.error == "the provider failed when the kernel was asked for: gave up"
    assert proposal.usage.requests == 1
    assert [blobs[exchange.reply] for exchange in proposal.exchanges] == [NOWHERE]
    mended, _, blobs = proposed(edits="diff", answer=failing("mend"))
    assert (mended.edit, blobs[mended.reply or ""]) == ("failed", NOWHERE)
    assert "asking again failed: gave up" in (mended.error or "")
    with pytest.raises(ProviderError):
        proposed(plan=True, answer=failing("plan"))


def test_a_diff_in_a_reply_that_was_cut_off_is_not_applied() -> None:
    class CutOff(Scripted):
        def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
            return Reply(DIFF, Usage(output_tokens=9), "max_tokens")

    proposal = ModelProposer(CutOff(lambda prompt: ""), "openai:m", "diff").propose(IMPROVE, context(starter()))
    assert (proposal.candidate, proposal.edit) == (None, None)
    assert "cut off after 9 tokens" in (proposal.error or "")
