"""What each provider sends and how it reads the answer, over real HTTP on the loopback."""

from __future__ import annotations

import pytest

from kernelwright.errors import ProviderError
from kernelwright.llm.anthropic import Anthropic
from kernelwright.llm.http import JsonClient, Patience
from kernelwright.llm.openai import OPENAI_URL, OpenAI
from kernelwright.llm.prices import PRICES, Price, price_of
from llm_server import Scripted, chat, llm_server, message

CLIENT = JsonClient(Patience(attempts=3, first_wait_s=0.001, attempt_s=600.0, deadline_s=1200.0))
PRICE = Price(2.0, 10.0)


def test_openai_sends_system_and_prompt_and_only_given_options() -> None:
    with llm_server(chat("hello"), chat("hello")) as server:
        OpenAI(CLIENT, "m", server.url + "/v1/").complete(("be brief", "the problem\n"), "say hello")
        OpenAI(CLIENT, "m", server.url, key="k", max_tokens=9, temperature=0.5).complete(("s",), "p")
    first, second = server.seen
    assert first.path == "/v1/chat/completions"
    assert "Authorization" not in first.headers
    assert first.document == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief\n\nthe problem"},
            {"role": "user", "content": "say hello"},
        ],
    }
    assert second.headers["Authorization"] == "Bearer k"
    assert (second.document["max_tokens"], second.document["temperature"]) == (9, 0.5)


def test_openai_itself_is_given_the_newer_name_of_the_limit() -> None:
    assert "max_completion_tokens" in OpenAI(CLIENT, "m", OPENAI_URL + "/", key="k", max_tokens=9)._fixed


def test_openai_reads_text_usage_cost_and_attempts() -> None:
    with llm_server(Scripted(503, {}), chat("hello")) as server:
        reply = OpenAI(CLIENT, "m", server.url, price=PRICE).complete(("s",), "p")
    assert (reply.text, reply.finish, reply.truncated) == ("hello", "stop", False)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.requests) == (100, 20, 2)
    assert reply.usage.cost_usd == pytest.approx(100 * 2e-6 + 20 * 10e-6)
    assert reply.usage.seconds > 0


def test_a_cost_that_the_provider_states_wins_over_the_table() -> None:
    with llm_server(chat("x", cost=0.25), chat("x", cost=0)) as server:
        provider = OpenAI(CLIENT, "m", server.url, price=PRICE)
        assert provider.complete(("s",), "p").usage.cost_usd == 0.25
        assert provider.complete(("s",), "p").usage.cost_usd == 0.0


def test_without_a_price_the_cost_is_not_known() -> None:
    with llm_server(chat("x"), message("x")) as server:
        assert OpenAI(CLIENT, "m", server.url).complete(("s",), "p").usage.cost_usd is None
        assert Anthropic(CLIENT, "m", "k", server.url).complete(("s",), "p").usage.cost_usd is None


def test_a_server_that_counts_nothing_gives_no_cost() -> None:
    answer = Scripted(body={"choices": [{"message": {"content": "x"}}]})
    with llm_server(answer) as server:
        reply = OpenAI(CLIENT, "m", server.url, price=PRICE).complete(("s",), "p")
    assert (reply.usage.input_tokens, reply.usage.cost_usd, reply.finish) == (0, None, "")


def test_a_refusal_without_text_is_a_reply() -> None:
    with llm_server(chat(None, finish="content_filter")) as server:
        reply = OpenAI(CLIENT, "m", server.url).complete(("s",), "p")
    assert (reply.text, reply.finish) == ("", "content_filter")


@pytest.mark.parametrize("body", [{}, {"error": {"message": "model overloaded"}}, {"choices": []}, [], "hi", None])
def test_json_that_is_no_chat_completion_is_a_provider_fault(body: object) -> None:
    with llm_server(Scripted(body=body)) as server, pytest.raises(ProviderError, match="is no chat completion"):
        OpenAI(CLIENT, "m", server.url).complete(("s",), "p")


def test_anthropic_sends_version_key_and_limit() -> None:
    with llm_server(message("hello"), message("hello")) as server:
        Anthropic(CLIENT, "m", "k", server.url).complete(("be brief", "the problem\n"), "say hello")
        Anthropic(CLIENT, "m", "k", server.url, max_tokens=9, temperature=0.5).complete(("s",), "p")
    first, second = server.seen
    assert first.path == "/v1/messages"
    assert (first.headers["x-api-key"], first.headers["anthropic-version"]) == ("k", "2023-06-01")
    assert first.document == {
        "model": "m",
        "max_tokens": 32000,
        "system": [
            {"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "the problem", "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [{"role": "user", "content": "say hello"}],
    }
    assert (second.document["max_tokens"], second.document["temperature"]) == (9, 0.5)


def test_anthropic_reads_text_without_thinking() -> None:
    with llm_server(message("hello")) as server:
        reply = Anthropic(CLIENT, "m", "k", server.url, price=PRICE).complete(("s",), "p")
    assert (reply.text, reply.finish) == ("hello", "end_turn")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.requests) == (100, 20, 1)


def test_tokens_of_a_cache_count_as_input_and_are_charged_at_their_own_price() -> None:
    price = Price(2.0, 10.0, cached_usd_per_mtok=0.5, written=1.25)
    sent = message("x", cache_read_input_tokens=50, cache_creation_input_tokens=30)  # beside 100 that are neither
    with llm_server(sent) as server:
        usage = Anthropic(CLIENT, "m", "k", server.url, price=price).complete(("s",), "p").usage
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_written_tokens, usage.tokens) == (180, 50, 30, 200)
    assert usage.cost_usd == pytest.approx((100 * 2 + 50 * 0.5 + 30 * 2.5 + 20 * 10) / 1e6)


def test_openai_counts_what_a_cache_served_within_its_prompt_tokens() -> None:
    price = Price(2.0, 10.0, cached_usd_per_mtok=0.5)
    with llm_server(
        chat("x", prompt_tokens_details={"cached_tokens": 60}), chat("x", prompt_tokens_details=None)
    ) as server:
        provider = OpenAI(CLIENT, "m", server.url, price=price)
        cached, fresh = provider.complete(("s",), "p").usage, provider.complete(("s",), "p").usage
    assert (cached.input_tokens, cached.cached_tokens, cached.cache_written_tokens) == (100, 60, 0)
    assert cached.cost_usd == pytest.approx((40 * 2 + 60 * 0.5 + 20 * 10) / 1e6)
    assert (fresh.input_tokens, fresh.cached_tokens) == (100, 0)


def test_more_cached_tokens_than_tokens_are_no_figures() -> None:
    with llm_server(chat("x", prompt_tokens_details={"cached_tokens": 101})) as server:
        reply = OpenAI(CLIENT, "m", server.url, price=PRICE).complete(("s",), "p")
    assert reply.doubt == "101 cached of 100 tokens"
    assert (reply.usage.cached_tokens, reply.usage.cost_usd) == (0, None)


@pytest.mark.parametrize("details", [[1], "many", 7])
def test_details_of_an_odd_form_say_nothing_of_a_cache(details: object) -> None:
    with llm_server(chat("x", prompt_tokens_details=details)) as server:
        reply = OpenAI(CLIENT, "m", server.url).complete(("s",), "p")
    assert (reply.text, reply.doubt, reply.usage.cached_tokens) == ("x", "", 0)


@pytest.mark.parametrize("body", [{}, {"content": "x"}, {"content": [], "usage": {}}, [], "hi"])
def test_json_that_is_no_message_is_a_provider_fault(body: object) -> None:
    with llm_server(Scripted(body=body)) as server, pytest.raises(ProviderError, match="is no message"):
        Anthropic(CLIENT, "m", "k", server.url).complete(("s",), "p")


def test_a_reply_that_ran_out_of_room_says_so() -> None:
    with llm_server(chat("half", finish="length"), message("half", finish="max_tokens")) as server:
        assert OpenAI(CLIENT, "m", server.url).complete(("s",), "p").truncated
        assert Anthropic(CLIENT, "m", "k", server.url).complete(("s",), "p").truncated


def test_a_wrong_key_ends_at_once() -> None:
    with llm_server(Scripted(401, {"error": {"message": "invalid x-api-key k-secret"}})) as server:
        with pytest.raises(ProviderError, match="status 401") as raised:
            Anthropic(CLIENT, "m", "k-secret", server.url).complete(("s",), "p")
        assert "k-secret" not in str(raised.value)
        assert len(server.seen) == 1


def test_prices_are_found_by_name_with_or_without_a_date() -> None:
    assert price_of("claude-opus-5-5") == price_of("claude-opus-5-5-20260901") == Price(4.0, 20.0, None, 0.2, 1.25)
    assert price_of("gpt-4.1-2025-04-14") == Price(2.0, 8.0, cached_usd_per_mtok=0.5)
    assert price_of("some-local-model") is None
    assert price_of("gpt-5-imaginary") is None


def test_a_cache_never_costs_more_to_read_than_the_input_itself() -> None:
    for name, price in PRICES.items():
        if price.cached_usd_per_mtok is not None:
            assert 0 < price.cached_usd_per_mtok <= price.input_usd_per_mtok / 2, name
        assert price.written == (1.25 if name.startswith("claude-") else 1.0), name


def test_cached_input_of_an_unknown_price_costs_as_other_input() -> None:
    assert Price(1.0, 2.0).cost_usd(1000, 0, cached=600) == pytest.approx(0.001)


def test_a_price_for_short_prompts_does_not_price_long_ones() -> None:
    price = Price(1.0, 2.0, up_to=1000)
    assert price.cost_usd(1000, 1000) == pytest.approx(0.003)
    assert price.cost_usd(1001, 1000) is None


# --- whether a model can be asked ---------------------------------------------------------------------------

LISTED = Scripted(body={"id": "m-1"})
NO_SUCH_MODEL = Scripted(404, {"error": {"message": "The model `m-1` does not exist", "code": "model_not_found"}})


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (LISTED, ""),
        (NO_SUCH_MODEL, 'answered with status 404: \'{"error": {"message": "The model `m-1` does not exist'),
        (Scripted(401, {"error": "invalid key secret-key"}), 'answered with status 401: \'{"error": "invalid key …'),
        (Scripted(401, {"error": "Missing scopes: api.model.read"}), ""),
        (Scripted(403, {"error": "this key may not list models"}), ""),
        (Scripted(404, b"Cannot GET /v1/models/m-1"), ""),
        (Scripted(404, {"detail": "Not Found"}), ""),
        (Scripted(501, b"not implemented"), ""),
        (Scripted(503, {}), ""),
        (Scripted(200, b"no JSON"), ""),
    ],
)
def test_a_model_that_a_server_does_not_know_or_a_key_that_it_refuses_is_told_from_a_server_that_lists_none(
    answer: Scripted, why: str
) -> None:
    with llm_server() as server:
        server.described = answer
        for provider in (
            OpenAI(CLIENT, "m-1", server.url + "/v1/", key="secret-key"),
            Anthropic(CLIENT, "m-1", "secret-key", server.url),
        ):
            found = provider.refusal()
            assert (why in found) if why else (found == "")
            assert "secret-key" not in found
        assert server.seen == [], "no prompt was sent"


def test_a_server_that_is_not_there_cannot_be_asked() -> None:
    with llm_server() as server:
        url = server.url
    assert "cannot be reached" in OpenAI(CLIENT, "m", url).refusal()
