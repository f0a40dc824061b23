"""Shell completion, and the word that a mistyped one may stand for."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from command_line import PROBLEM, fault, run
from kernelwright.cli.main import VERBS, cli


def completed(*words: str) -> list[str]:
    """What the last word is completed to; a file by the shell itself is <file>."""
    found = ShellComplete(cli, {}, "kernelwright", "_KERNELWRIGHT_COMPLETE").get_completions(
        list(words[:-1]), words[-1]
    )
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in found]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_verbs_are_completed() -> None:
    assert completed("ben") == ["bench"]
    assert completed("") == list(VERBS)


def test_options_of_a_verb_and_their_choices_are_completed() -> None:
    assert "--max-slowdown" in completed("bench", "--max")
    assert completed("report", "RUN", "--format", "h") == ["html"]


def test_problems_are_completed_from_both_galleries() -> None:
    Path("gallery/softly").mkdir(parents=True)
    Path("gallery/softly/problem.py").write_text(PROBLEM)
    assert completed("bench", "soft") == ["softly", "softmax"]
    assert completed("optimize", "./so") == ["<file>"]


def test_runs_are_completed_from_the_folder_of_runs() -> None:
    for name in ("softmax-1", "matmul-1"):
        Path("runs", name).mkdir(parents=True)
        Path("runs", name, "journal.db").write_bytes(b"")
    assert sorted(completed("report", "")) == ["runs/matmul-1", "runs/softmax-1"]
    assert completed("optimize", "--resume", "runs/s") == ["runs/softmax-1"]
    assert completed("show", "elsewhere/") == ["<file>"]


def test_a_mistyped_verb_is_answered_with_the_one_that_is_alike() -> None:
    result = run("optimise", "softmax")
    assert result.exit_code == 2
    assert "No such command 'optimise'; did you mean optimize?" in result.stderr
    assert "did you mean" not in run("zzz").stderr


def test_a_mistyped_problem_is_answered_with_the_one_that_is_alike() -> None:
    assert "did you mean softmax?" in fault(run("bench", "sofmax"))
    assert "did you mean" not in fault(run("bench", "zzz"))
