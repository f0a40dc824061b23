"""A reply can hold anything: what comes of it is a `Reply` that can be kept and counted, or a `ProviderError`."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes import FakeWorker, run_info
from kernelwright.codec import decode, encode
from kernelwright.errors import ConfigError, KernelwrightError, ProviderError
from kernelwright.journal import Journal
from kernelwright.llm.anthropic import Anthropic
from kernelwright.llm.http import JsonClient, Patience
from kernelwright.llm.openai import OpenAI
from kernelwright.llm.prices import Price
from kernelwright.llm.protocol import Reply
from kernelwright.llm.received import LARGEST_TEXT, Counts, assumed, usage_of
from kernelwright.model import Budget, Usage
from kernelwright.propose import build_proposer
from kernelwright.report.cost import run_usage
from kernelwright.report.view import read_run
from kernelwright.run import optimize
from kernelwright.search import build_strategy
from llm_server import Scripted, chat, llm_server
from proposing import KERNEL, starter

CLIENT = JsonClient(Patience(attempts=1, attempt_s=600.0, deadline_s=600.0))
PRICE = Price(2.0, 10.0)
Ask = Callable[[str], Reply]
ASK: dict[str, Ask] = {
    "openai": lambda url: OpenAI(CLIENT, "m", url, price=PRICE).complete(("s",), "p"),
    "anthropic": lambda url: Anthropic(CLIENT, "m", "k" * 9, url, price=PRICE).complete(("s",), "p"),
}


def body(provider: str, text: str = '"x"', usage: str = "{}", finish: str = '"stop"') -> bytes:
    """A document in a provider's form, from JSON texts."""
    if provider == "openai":
        choice = f'{{"message": {{"content": {text}}}, "finish_reason": {finish}}}'
        return f'{{"choices": [{choice}], "usage": {usage}}}'.encode()
    return f'{{"content": [{{"type": "text", "text": {text}}}], "stop_reason": {finish}, "usage": {usage}}}'.encode()


def answer(provider: str, document: bytes) -> Reply | None:
    """The reply, which can be kept; None where the provider's fault was said, in a message that can be kept."""
    with llm_server(Scripted(body=document)) as server:
        try:
            reply = ASK[provider](server.url)
        except ProviderError as error:
            encode(str(error))
            return None
    encode([reply.text, reply.finish])
    assert decode(encode(reply.usage), Usage) == reply.usage, "a figure that JSON cannot hold becomes another one"
    return reply


@pytest.mark.parametrize("provider", ASK)
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (r'"\ud800"', "\ufffd"), (r'"a\udfffb"', "a\ufffdb"), (r'"\u0000"', "\ufffd"),
        (r'"\ud83d\ude00"', "\U0001f600"), ('"\U0001f600"', "\U0001f600"), ('"a\u202eb"', "a\u202eb"),
    ],
)  # fmt: skip
def test_any_character_can_arrive(provider: str, text: str, kept: str) -> None:
    reply = answer(provider, body(provider, text, '{"output_tokens": 1}'))
    assert reply is not None
    assert reply.text == kept


@pytest.mark.parametrize("provider", ASK)
@pytest.mark.parametrize(
    "text", ["null", "1", "true", "{}", "[]", '[{"type": "text"}]', "[" * 90 + "]" * 90, "1e999", "NaN"]
)
def test_a_text_that_is_none_is_an_empty_reply_or_a_fault(provider: str, text: str) -> None:
    reply = answer(provider, body(provider, text, '{"output_tokens": 1}'))
    assert reply is None or reply.text == ""


@pytest.mark.parametrize("provider", ASK)
@pytest.mark.parametrize(
    "document",
    [
        b"", b"\x00", b"\xff\xfe", b"{", b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900, b"9" * 10_000,
        b'"\xff"', '"é"'.encode("latin-1"), '{"choices": []}'.encode("utf-16"), b'"\\ud800"', b'{"\\ud800": 1}',
        b"\xef\xbb\xbf{}", b"NaN", b"1e999", b"-Infinity", bytes(range(256)) * 100, b'{"choices": [[[]]]}',
        b'{"choices": {"0": 1}}', b'{"choices": [{"message": []}]}', b'{"choices": [{"message": null}]}',
        b'{"content": {"type": "text"}}', b'{"content": ["text"], "usage": {"output_tokens": 1}}',
        b'{"content": [], "usage": []}', b'{"content": null, "usage": {}}', b'{"content": [], "usage": "many"}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": [1]}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": "many"}',
    ],
)  # fmt: skip
def test_a_body_of_any_kind_ends_in_a_reply_or_a_fault_in_words(provider: str, document: bytes) -> None:
    answer(provider, document)


FIGURES = ["1e400", "-1", "-1e400", "NaN", "1e9999", "9" * 400, "0.25", '"12"', "true", "[]", "{}", "0.5",
           "-0.5", str(10**18)]  # fmt: skip


@pytest.mark.parametrize("provider", ASK)
@pytest.mark.parametrize("figure", FIGURES)
def test_a_count_that_is_none_makes_the_reply_doubtful_and_the_text_stays(provider: str, figure: str) -> None:
    first, second = (
        ("prompt_tokens", "completion_tokens") if provider == "openai" else ("input_tokens", "output_tokens")
    )
    for written in (f'{{"{first}": {figure}, "{second}": 1}}', f'{{"{first}": 1, "{second}": {figure}}}'):
        reply = answer(provider, body(provider, '"kernel"', written))
        assert reply is not None
        assert (reply.text, bool(reply.doubt)) == ("kernel", True)
        assert (reply.usage.tokens, reply.usage.cost_usd) == (0, None)


@pytest.mark.parametrize("figure", [figure for figure in FIGURES if figure not in ("0.5", "0.25")])
def test_a_cost_that_is_none_is_not_believed(figure: str) -> None:
    usage = f'{{"prompt_tokens": 100, "completion_tokens": 20, "cost": {figure}}}'
    reply = answer("openai", body("openai", '"kernel"', usage))
    assert reply is not None
    assert "USD" in reply.doubt
    assert reply.usage.cost_usd == pytest.approx(100 * 2e-6 + 20 * 10e-6), "what the price says"


def test_counts_may_be_written_as_floats() -> None:
    assert usage_of(Counts([1e3, None], 2.0), PRICE, 0.0, 1) == (
        Usage(input_tokens=1000, output_tokens=2, cost_usd=1000 * 2e-6 + 2 * 10e-6, requests=1),
        "",
    )


def test_a_text_without_measure_is_cut() -> None:
    for provider in ASK:
        reply = answer(provider, body(provider, json.dumps("x" * (LARGEST_TEXT + 9)), '{"output_tokens": 1}'))
        assert reply is not None
        assert (len(reply.text), reply.finish) == (LARGEST_TEXT, f"longer than {LARGEST_TEXT} characters")


def test_tokens_of_a_cache_are_added_up_and_count_for_a_budget_once() -> None:
    one = Usage(input_tokens=9, cached_tokens=5, cache_written_tokens=3, output_tokens=2)
    both = one.plus(one)
    assert (both.cached_tokens, both.cache_written_tokens, both.tokens) == (10, 6, 22)


def test_what_cannot_be_counted_is_assumed_to_be_the_dearest() -> None:
    odd = Reply("kernel", Usage(seconds=2.0, requests=3), "stop", "NaN tokens")
    dearest = Usage(input_tokens=500, output_tokens=70, cost_usd=0.25)
    assert assumed(odd, "prompt", dearest) == Usage(
        input_tokens=500, output_tokens=70, cost_usd=0.25, seconds=2.0, requests=3, assumed=1
    )
    unknown = assumed(odd, "prömpt", Usage())
    assert (unknown.input_tokens, unknown.output_tokens, unknown.cost_usd) == (7, 6, None), "a token is a byte at least"


# --- a whole run -------------------------------------------------------------------------------------------------


def test_a_run_survives_odd_replies_counts_them_and_does_not_meet_them_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = "Note: wider.\n\n```python\n" + KERNEL.replace("BLOCK = 256", "BLOCK = 512") + "```\n"
    odd = [
        chat("Note: \ud800\n\n```python\n# \udfff\0\n" + KERNEL.replace("BLOCK = 256", "BLOCK = 128") + "```\n"),
        Scripted(body=body("openai", json.dumps(whole), '{"prompt_tokens": 1e400, "completion_tokens": -3}')),
        chat("```python\nclass ModelNew: pass\nx = " + "(" * 5000 + ")" * 5000 + "\n```\n"),
        chat("```python\nclass ModelNew: pass\nx = " + "+".join("1" * 3000) + "\n```\n"),
    ]
    info = run_info(strategy="greedy", starter=starter().proposal.candidate)
    with llm_server(*odd) as server, caplog.at_level(logging.WARNING):
        proposer = build_proposer("openai", {"model": "m", "base_url": server.url, "attempts": 1, "reflect": False}, {})
        with Journal.create(tmp_path / "run", info) as journal:
            strategy = build_strategy("greedy", info.starter, 0)
            optimize(journal, strategy, proposer, FakeWorker(), budget=Budget(trials=5))
            assert len(server.seen) == 4
            trials = journal.trials()
            usage = run_usage(read_run(journal))
    assert [trial.passed for trial in trials] == [True, True, True, False, False]
    assert "nested" in (trials[4].proposal.error or "")
    assert (usage.tokens, usage.assumed) == (4 * 120, 1), "100 and 20 in place of infinity and -3"
    assert "inf tokens" in caplog.text


# --- keys --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", ["sk-abc\ndefghij", "sk-abc\rdefghij", "sk-abcd\u00e9fgh", "sk-abc defghij",
                                    "sk-abc\x00defghij", "sk-abc\udcffdefghij", "sk-abc\x7fdefghij"])  # fmt: skip
@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(name: str, secret: str) -> None:
    with pytest.raises(ConfigError) as raised:
        build_proposer(name, {"model": "m"}, {f"{name.upper()}_API_KEY": secret})
    assert f"{name.upper()}_API_KEY" in str(raised.value)
    for part in ("sk-", "abc", "def", "ghij"):
        assert part not in str(raised.value)


@pytest.mark.parametrize("url", ["http://me:sk-secret-1@127.0.0.1/v1", "http://127.0.0.1/v1?key=sk-secret-1",
                                 "http//me:sk-secret-1@host", "http://127.0.0.1/v1#sk-secret-1"])  # fmt: skip
def test_an_address_with_a_secret_in_it_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(KernelwrightError) as raised:
        build_proposer("openai", {"model": "m", "base_url": url}, {})
    assert "sk-secret-1" not in str(raised.value)


SECRET = "sk-" + "q" * 40


@pytest.mark.parametrize("echo", [SECRET, "".join(f"\\u{ord(one):04x}" for one in SECRET), f"Bearer {SECRET}"])
@pytest.mark.parametrize("status", [200, 401, 500])
@pytest.mark.parametrize("before", [0, 270, 290])
def test_a_key_that_the_server_sends_back_is_shown_nowhere(
    caplog: pytest.LogCaptureFixture, status: int, echo: str, before: int
) -> None:
    caplog.set_level(logging.DEBUG)
    document = f'{{"choices": [{{"message": {{"content": "{"." * before}{echo}"}}}}]}}'.encode()
    with llm_server(Scripted(status, document)) as server:
        try:
            said = OpenAI(CLIENT, "m", server.url, key=SECRET).complete(("s",), "p").text
        except ProviderError as error:
            said = str(error)
    assert "sk-q" not in said + caplog.text or echo.startswith("\\u")
    assert "qqqq" not in said + caplog.text


def test_a_figure_is_finite() -> None:
    reply = answer("openai", body("openai", usage='{"prompt_tokens": 5, "completion_tokens": 1, "cost": 1e400}'))
    assert reply is not None
    assert reply.usage.cost_usd is not None
    assert math.isfinite(reply.usage.cost_usd)
