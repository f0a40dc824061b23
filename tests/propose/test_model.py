"""The model proposer, with a provider that is a function and with a real one over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from kernelwright.errors import ProviderError
from kernelwright.llm.protocol import Reply
from kernelwright.model import Operator, Proposal, Request, Usage
from kernelwright.propose import build_proposer
from kernelwright.propose.model import ModelProposer
from llm_server import Scripted, chat, llm_server, message
from proposing import KERNEL, REPLY, Blobs, context, starter

IMPROVE = Request(number=1, operator=Operator.IMPROVE, parents=(0,))
USAGE = Usage(input_tokens=900, output_tokens=300, cost_usd=0.01, seconds=2.0, requests=1)


@dataclass
class FakeProvider:
    """`llm.Provider` as a function of what it is asked."""

    answer: Callable[[str, str], Reply] = lambda system, prompt: Reply(REPLY, USAGE, "stop")
    asked: list[tuple[str, str]] = field(default_factory=list)
    closed: bool = False

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        self.asked.append((system, prompt))
        return self.answer(system, prompt)

    def close(self) -> None:
        self.closed = True


def answered(text: str, finish: str = "stop") -> tuple[Proposal, Blobs]:
    blobs = Blobs()
    proposer = ModelProposer(FakeProvider(lambda system, prompt: Reply(text, USAGE, finish)), "openai:m")
    return proposer.propose(IMPROVE, context(starter(), blobs=blobs)), blobs


def test_a_good_reply_becomes_a_candidate_with_note_usage_prompt_and_reply() -> None:
    proposal, blobs = answered(REPLY)
    assert proposal.candidate is not None
    assert "BLOCK = 1024" in proposal.candidate.source
    assert (proposal.author, proposal.note, proposal.usage) == ("openai:m", "a wider block.", USAGE)
    assert blobs[proposal.reply or ""] == REPLY
    prompt = blobs[proposal.prompt or ""]
    assert "You write GPU kernels in Triton" in prompt
    assert "Make `double` faster" in prompt


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("I would rather not.", "the reply has no fenced Python block"),
        ("```python\nx = (\n```", "does not parse as Python"),
        ("```python\nx = 1\n```", "defines neither ModelNew nor kernel_function"),
        (f"```python\n{KERNEL}```", "the code is the same as that of trial 0"),
    ],
)
def test_an_unusable_reply_is_an_error_that_was_paid_for_and_kept(text: str, error: str) -> None:
    proposal, blobs = answered(text)
    assert proposal.candidate is None
    assert error in (proposal.error or "")
    assert proposal.usage == USAGE
    assert blobs[proposal.reply or ""] == text
    assert proposal.prompt in blobs


def test_a_truncated_reply_is_an_error_even_if_a_block_is_whole() -> None:
    proposal, _ = answered(REPLY, "max_tokens")
    assert proposal.candidate is None
    assert proposal.error == (
        "the reply was cut off after 300 tokens (finish reason 'max_tokens'): allow more with the option max_tokens"
    )
    assert proposal.usage == USAGE


def test_an_unusual_finish_is_told_with_the_error() -> None:
    proposal, _ = answered("", "refusal")
    assert proposal.error == "the reply has no fenced Python block (finish reason 'refusal')"


def test_tuning_is_left_to_the_builtin_proposer() -> None:
    provider = FakeProvider()
    request = Request(number=1, operator=Operator.TUNE, parents=(0,))
    proposal = ModelProposer(provider, "openai:m").propose(request, context(starter()))
    assert (proposal.author, provider.asked) == ("builtin", [])
    assert proposal.candidate is not None


def test_a_request_that_has_no_words_costs_nothing() -> None:
    provider = FakeProvider()
    request = Request(number=1, operator=Operator.REPAIR, parents=(7,))
    proposal = ModelProposer(provider, "openai:m").propose(request, context(starter()))
    assert "trial 7, which has no candidate" in (proposal.error or "")
    assert (proposal.usage, provider.asked) == (Usage(), [])


def test_a_fault_of_the_provider_is_raised_and_closing_reaches_it() -> None:
    def fails(system: str, prompt: str) -> Reply:
        raise ProviderError("gave up")

    provider = FakeProvider(fails)
    proposer = ModelProposer(provider, "openai:m")
    with pytest.raises(ProviderError, match="gave up"):
        proposer.propose(IMPROVE, context(starter()))
    proposer.close()
    assert provider.closed


# --- over HTTP ----------------------------------------------------------------------------------------------


def over_http(*script: Scripted, name: str = "openai", **options: object) -> tuple[Proposal, int]:
    """What a proposer made from options and environment proposes, and how many requests the server saw."""
    with llm_server(*script) as server:
        given = {"model": "m", "base_url": server.url, "attempts": 2, "timeout_s": 600.0, **options}
        proposer = build_proposer(name, given, {"ANTHROPIC_API_KEY": "k"})  # type: ignore[arg-type]
        try:
            return proposer.propose(IMPROVE, context(starter())), len(server.seen)  # type: ignore[return-value]
        finally:
            proposer.close()


def test_an_openai_compatible_server_writes_a_candidate() -> None:
    proposal, seen = over_http(chat(REPLY), input_usd_per_mtok=2, output_usd_per_mtok=10)
    assert proposal.candidate is not None
    assert (proposal.author, seen) == ("openai:m", 1)
    assert (proposal.usage.input_tokens, proposal.usage.output_tokens) == (100, 20)
    assert proposal.usage.cost_usd == pytest.approx(0.0004)


def test_anthropic_writes_a_candidate_and_its_thinking_is_not_taken_for_code() -> None:
    proposal, _ = over_http(message(REPLY), name="anthropic")
    assert proposal.candidate is not None
    assert proposal.author == "anthropic:m"
    assert proposal.usage.cost_usd is None


def test_a_busy_server_is_asked_again_and_the_requests_are_counted() -> None:
    proposal, seen = over_http(Scripted(429, {}, {"Retry-After": "0"}), chat(REPLY))
    assert proposal.candidate is not None
    assert proposal.usage.requests == seen == 2


def test_a_reply_without_code_over_http_is_an_error_with_its_cost() -> None:
    proposal, _ = over_http(chat("Sorry."), input_usd_per_mtok=2, output_usd_per_mtok=10)
    assert proposal.error == "the reply has no fenced Python block"
    assert proposal.usage.cost_usd == pytest.approx(0.0004)


def test_a_truncated_reply_over_http_is_an_error() -> None:
    for script, name in ((chat(REPLY, finish="length"), "openai"), (message(REPLY, finish="max_tokens"), "anthropic")):
        proposal, _ = over_http(script, name=name)
        assert "cut off after 20 tokens" in (proposal.error or "")


def test_a_wrong_key_stops_the_run_at_once() -> None:
    with llm_server(Scripted(401, {"error": "wrong key"})) as server:
        proposer = build_proposer("openai", {"model": "m", "base_url": server.url}, {})
        with pytest.raises(ProviderError):
            proposer.propose(IMPROVE, context(starter()))
        proposer.close()
        assert len(server.seen) == 1


NO_REPLIES = (
    Scripted(body=b"<html>"), Scripted(body={}), Scripted(body=[]), Scripted(body={"choices": []}),
    Scripted(body={"choices": [{"message": "text"}], "usage": {}}), Scripted(body={"choices": 3}),
    Scripted(body={"error": {"message": "overloaded"}}), Scripted(body={"content": [{"type": "text"}], "usage": {}}),
    Scripted(body={"content": "text", "usage": []}),
)  # fmt: skip


@pytest.mark.parametrize("name", ["openai", "anthropic"])
@pytest.mark.parametrize("script", NO_REPLIES)
def test_an_answer_that_is_no_reply_of_a_model_is_a_failed_trial(script: Scripted, name: str) -> None:
    proposal, seen = over_http(script, name=name)
    assert (proposal.candidate, seen) == (None, 1)
    assert "the provider failed when the kernel was asked for: http" in (proposal.error or "")
    assert (proposal.usage.requests, proposal.usage.assumed, proposal.usage.cost_usd) == (1, 1, 0.0)


def test_five_answers_in_a_row_that_are_no_replies_end_the_search_in_one_line() -> None:
    bad, good = Scripted(body={"error": "overloaded"}), chat(REPLY)
    with llm_server(*[bad] * 4, good, *[bad] * 5) as server:
        proposer = build_proposer("openai", {"model": "m", "base_url": server.url}, {})
        for fails in [True] * 4 + [False] + [True] * 4:
            assert (proposer.propose(IMPROVE, context(starter())).candidate is None) is fails  # type: ignore[union-attr]
        with pytest.raises(ProviderError, match="5 answers in a row are no replies of a model: http") as error:
            proposer.propose(IMPROVE, context(starter()))
        proposer.close()
    assert "\n" not in str(error.value)


def test_options_of_the_command_line_reach_the_conversation() -> None:
    diff = "Note: wider.\n\n```diff\n-BLOCK = 256\n+BLOCK = 1024\n```\n"
    proposal, seen = over_http(chat("Widen the block."), chat(diff), edits="diff", plan="true")
    assert proposal.candidate is not None
    assert (proposal.edit, seen, [exchange.kind for exchange in proposal.exchanges]) == ("applied", 2, ["plan"])
