"""The question for configs to begin with, and what answers amount to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes import ENVIRONMENT
from kernelwright.errors import ConfigError
from kernelwright.propose.advice import advice_prompt, rows_in
from kernelwright.propose.reply import Unusable
from kernelwright.propose.table import PROPOSERS, build_advisor
from kernelwright.spaces.space import Parameter, Space
from llm_server import chat, llm_server
from tuned import SOURCE, SPACE, problem

ROWS = [{"BLOCK": 64}, {"BLOCK": 128, "k.num_warps": 4}]


def test_the_question_holds_the_kernel_its_parameters_the_cases_and_the_machine() -> None:
    text = advice_prompt(SOURCE, SPACE, problem("big"), ENVIRONMENT).text
    assert SOURCE.strip() in text
    assert all(f"`{one.name}`" in text for one in SPACE.parameters)
    assert "big" in text
    assert ENVIRONMENT.device is not None
    assert ENVIRONMENT.device in text


def test_the_question_states_restrictions_and_an_example_that_is_a_config() -> None:
    space = Space(parameters=(Parameter(name="A", choices=(1, 2), default=1),), restrictions=("A < 3",))
    text = advice_prompt("x = 1\n", space, "double", ENVIRONMENT).text
    assert "- `A < 3`" in text
    assert rows_in(text) == [{"A": 1}]
    assert "the problem double" in text


@pytest.mark.parametrize(
    "reply",
    [
        f"Because of the registers:\n\n```json\n{json.dumps(ROWS)}\n```\n",
        f"```\n{json.dumps(ROWS)}\n```",
        json.dumps(ROWS),
        f"```json\n[{{}}]\n```\nNo, rather:\n```json\n{json.dumps(ROWS)}\n```",
        f"```json\n{json.dumps(ROWS)}\n```\nand in Python\n```python\nx = 1\n```",
    ],
)
def test_the_last_list_of_objects_is_the_answer(reply: str) -> None:
    assert rows_in(reply) == ROWS


@pytest.mark.parametrize(
    "reply", ["", "I would take 64.", "```json\n[1, 2]\n```", "```json\n[]\n```", '```json\n[{"A":']
)
def test_an_answer_without_a_list_of_configs_is_unusable(reply: str) -> None:
    with pytest.raises(Unusable, match="no JSON list"):
        rows_in(reply)


def test_a_script_answers_with_its_first_reply_and_the_mailbox_later(tmp_path: Path) -> None:
    file = tmp_path / "script.jsonl"
    file.write_text('{"reply": "[]", "usage": {"input_tokens": 5, "requests": 1}}\n')
    advisor, author = build_advisor("script", {"file": str(file)}, {})
    reply = advisor.complete(("",), "")
    assert reply is not None
    assert (author, reply.text, reply.usage.input_tokens) == ("script", "[]", 5)
    advisor, author = build_advisor("mailbox", {}, {})
    assert (author, advisor.complete(("",), "")) == ("mailbox", None)


def test_a_script_without_a_reply_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "script.jsonl"
    file.write_text('{"error": "no"}\n')
    with pytest.raises(ConfigError, match="is no reply"):
        build_advisor("script", {"file": str(file)}, {})


def test_a_model_is_asked_over_http_and_its_cost_is_known() -> None:
    with llm_server(chat(json.dumps(ROWS), prompt_tokens=900, completion_tokens=40)) as server:
        advisor, author = build_advisor("openai", {"model": "small", "base_url": server.url}, {})
        reply = advisor.complete(("system",), "question")
        advisor.close()
        (seen,) = server.seen
    assert author == "openai:small"
    assert reply is not None
    assert rows_in(reply.text) == ROWS
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.requests) == (900, 40, 1)
    assert "question" in json.dumps(seen.document)


def test_an_unknown_advisor_a_wrong_option_and_a_missing_key_are_refused() -> None:
    with pytest.raises(ConfigError, match="there is no advisor 'builtin'"):
        build_advisor("builtin", {}, {})
    with pytest.raises(ConfigError, match="colour"):
        build_advisor("mailbox", {"colour": "red"}, {})
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        build_advisor("anthropic", {"model": "any"}, {})
    assert [name for name, entry in PROPOSERS.items() if entry.advisor] == ["openai", "anthropic", "mailbox", "script"]
