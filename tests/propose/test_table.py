"""Making proposers from a name, options and the environment; what is missing is said before a run begins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.errors import ConfigError, RunFolderError
from kernelwright.model import Scalar
from kernelwright.propose import PROPOSERS, build_proposer, writes_code
from kernelwright.propose.builtin import Builtin
from kernelwright.propose.mailbox import Mailbox


def test_the_table_holds_the_proposers_that_are_promised() -> None:
    assert list(PROPOSERS) == ["builtin", "inductor", "openai", "anthropic", "mailbox", "replay", "script"]


def test_each_says_whether_it_writes_code() -> None:
    assert [name for name in (*PROPOSERS, "of another version") if writes_code(name)] == [
        "openai",
        "anthropic",
        "mailbox",
    ]


def test_proposers_that_need_nothing_are_made_from_nothing() -> None:
    assert isinstance(build_proposer("builtin"), Builtin)
    assert isinstance(build_proposer("mailbox"), Mailbox)


def test_an_unknown_proposer_is_refused_with_the_list() -> None:
    with pytest.raises(
        ConfigError, match=r"no proposer 'gpt' \(choose one of builtin, inductor, openai, anthropic, mailbox"
    ):
        build_proposer("gpt")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("builtin", {"width": 4}, "has no option 'width' .its options: sampler"),
        ("builtin", {"sampler": "annealing"}, "no sampler 'annealing' .choose one of model, local"),
        ("mailbox", {"folder": "x"}, "has no option 'folder' .its options: settle_s"),
        ("mailbox", {"settle_s": "soon"}, "cannot use"),
        ("openai", {}, "needs the option model .give --model NAME"),
        ("openai", {"model": ""}, "cannot use"),
        ("openai", {"model": "m", "temperature": 9}, "cannot use"),
        ("openai", {"model": "m", "base_url": "nonsense"}, "cannot reach 'nonsense'"),
        ("openai", {"model": "m", "base_url": "http://x", "input_usd_per_mtok": 1}, "half a price"),
        ("anthropic", {}, "needs the option model"),
        ("replay", {}, "needs the option run"),
        ("script", {}, "needs the option file"),
    ],
)
def test_options_that_do_not_fit_are_refused(name: str, options: dict[str, Scalar], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build_proposer(name, options, {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})


@pytest.mark.parametrize("option", ["api_key", "key", "token"])
def test_a_key_is_no_option_because_options_are_kept(option: str) -> None:
    with pytest.raises(ConfigError, match="kept in the run's journal") as raised:
        build_proposer("openai", {"model": "m", option: "sk-secret"}, {})
    assert "sk-secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "options", "variable"),
    [
        ("openai", {"model": "m"}, "OPENAI_API_KEY"),
        ("openai", {"model": "m", "base_url": "http://x", "key_env": "MY_KEY"}, "MY_KEY"),
        ("anthropic", {"model": "m"}, "ANTHROPIC_API_KEY"),
        ("anthropic", {"model": "m", "base_url": "http://x"}, "ANTHROPIC_API_KEY"),
    ],
)
def test_a_missing_key_names_the_variable(name: str, options: dict[str, Scalar], variable: str) -> None:
    for variables in ({}, {variable: " "}):
        with pytest.raises(ConfigError, match=f"environment variable {variable} is not set"):
            build_proposer(name, options, variables)


def test_a_server_of_ones_own_needs_no_key() -> None:
    assert build_proposer("openai", {"model": "m", "base_url": "http://localhost:8000/v1"}, {}).author == "openai:m"
    assert (
        build_proposer("openai", {"model": "m"}, {"OPENAI_BASE_URL": "http://localhost:8000/v1"}).author == "openai:m"
    )


def test_numbers_may_come_as_text() -> None:
    options = {"model": "m", "max_tokens": "900", "temperature": "0.5", "timeout_s": "30"}
    assert build_proposer("anthropic", options, {"ANTHROPIC_API_KEY": "k"}).author == "anthropic:m"


def test_a_run_or_script_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError):
        build_proposer("replay", {"run": str(tmp_path / "none")})
    with pytest.raises(ConfigError):
        build_proposer("script", {"file": str(tmp_path / "none.jsonl")})


def test_http_is_imported_only_when_a_provider_is_made() -> None:
    code = "import sys, kernelwright.propose as p; p.build_proposer('builtin'); print('urllib3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
