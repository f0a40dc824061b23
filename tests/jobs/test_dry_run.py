"""What `optimize --dry-run` says would be sent, and that it sends and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import PROBLEM, run
from fakes import FakeWorker
from kernelwright.jobs.dry_run import dry_run
from kernelwright.jobs.optimize import optimize
from kernelwright.jobs.worker import Desk
from kernelwright.report.dry_run import DryRun
from llm_server import chat, llm_server
from proposing import KERNEL, REPLY
from started import starting

KEY = "sk-this-is-a-secret-key"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.parent / f"{tmp_path.name}-state"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (tmp_path / "double.py").write_text(PROBLEM)
    (tmp_path / "kernel.py").write_text(KERNEL)


def shown(**options: object) -> DryRun:
    return dry_run(
        "double.py",
        desk=Desk(lambda text: None, starting(FakeWorker())),
        **{"proposer": "openai", "model": "m", **options},
    )


def searched(**given: Any) -> None:
    """Run what the dry run shows the first prompt of."""
    desk = Desk(lambda text: None, starting(FakeWorker()))
    optimize("double.py", proposer="openai", model="m", trials=2, in_flight=1, desk=desk, **given)


@pytest.mark.parametrize("starter", ["kernel.py", None])
@pytest.mark.parametrize("options", [{}, {"plan": True, "temperature": 0.5, "max_tokens": 99}, {"edits": "diff"}])
def test_the_first_prompt_is_what_a_run_sends_first(starter: str | None, options: dict[str, object]) -> None:
    with llm_server(*[chat(REPLY)] * 9) as server:
        given = {"starter": starter, "proposer_option": options, "base_url": server.url, "option": {"tuning": 0}}
        found = shown(**given)
        assert server.seen == []
        searched(**given)
        assert found.document == server.seen[0].document
        assert found.address == server.url + server.seen[0].path


def test_the_prompt_is_of_the_library_mode_that_is_given() -> None:
    assert "Library steps are allowed here" not in json.dumps(shown().document)
    assert 'LIBRARY = \\"any\\"' in json.dumps(shown(library="any").document)


def test_where_the_search_tunes_first_the_prompt_shows_the_results_as_in_a_run() -> None:
    with llm_server(*[chat(REPLY)] * 9) as server:
        worker, given = FakeWorker(), {"starter": "kernel.py", "base_url": server.url}
        found = dry_run(
            "double.py", proposer="openai", model="m", desk=Desk(lambda text: None, starting(worker)), **given
        )
        assert len(worker.calls) > 2, "the starter and its tunings"
        searched(**given)
        assert found.document == server.seen[0].document


def test_a_search_that_ends_before_it_asks_says_why() -> None:
    found = shown(starter="kernel.py", trials=1)
    assert found.document is None
    assert found.remarks[0] == "the search ends without a prompt: 1 of 1 trials"


def test_no_run_is_begun_and_no_key_is_needed_or_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown(proposer="anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    result = run("optimize", "double.py", "--proposer", "anthropic", "--model", "m", "--dry-run")
    assert result.exit_code == 0
    assert KEY not in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["double.py", "kernel.py"]


def test_the_command_prints_address_limits_and_the_whole_prompt() -> None:
    words = [
        "optimize",
        "double.py",
        "--proposer",
        "openai",
        "--model",
        "gpt-5",
        "--tokens",
        "1000000",
        "--minutes",
        "3",
    ]
    result = run(*words, "--dry-run")
    assert result.exit_code == 0
    assert "https://api.openai.com/v1/chat/completions" in result.stdout
    document = json.loads(run(*words, "--dry-run", "--json").stdout)
    for message in document["document"]["messages"]:
        assert message["content"] in result.stdout
    assert document["limits"] == {
        "trials": "no limit", "minutes": "3", "tokens": "1000000", "USD": "10.00", "GPU minutes": "3"
    }  # fmt: skip


def test_limits_that_are_not_set_are_said_not_to_be() -> None:
    limits = shown(proposer="anthropic", trials=5, gpu_seconds=90.0).limits
    assert limits["GPU minutes"] == "1.5"
    assert limits["USD"] == "no limit"
    assert limits["tokens"] == "no limit; at most 10 answers of at most 32000 tokens, and their prompts"


def test_a_proposer_without_a_model_sends_nothing_and_nothing_is_evaluated() -> None:
    worker = FakeWorker()
    found = dry_run("double.py", proposer="builtin", starter="kernel.py", desk=Desk(print, starting(worker)))
    assert (found.address, found.document, found.file) == (None, None, None)
    assert found.remarks == ("builtin asks no model: nothing leaves this machine",)
    assert worker.calls == []


def test_a_mailbox_s_prompt_is_shown_as_the_file_that_would_be_written(tmp_path: Path) -> None:
    found = shown(proposer="mailbox", model=None)
    assert found.file is not None
    assert "kernel_function" in found.file
    assert "files in the run's folder" in found.remarks[0]
    assert not (tmp_path / "runs").exists()


def test_lesson_cards_are_in_the_prompt_as_in_a_run() -> None:
    with pytest.raises(Exception, match="leave --lessons or --no-source out"):
        shown(lessons="cards", no_source=True)


def test_without_the_source_it_is_not_in_the_dry_run_s_prompt_either() -> None:
    with_source, without = shown(), shown(no_source=True)
    assert "a reference" in json.dumps(with_source.document)
    assert "a reference" not in json.dumps(without.document)
