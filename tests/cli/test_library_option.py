"""`--library`: every command that takes candidates loads the problem in that mode, and names it beside its figures."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM, fault, run
from fakes import PROBLEM as DOUBLE
from fakes import FakeWorker
from kernelwright.model import LibraryMode
from tuned import SOURCE, TuneWorker

KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = 64\n"
NAMED = "LIBRARY = 'any'"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE)
    Path("mine.py").write_text(KERNEL)


def loaded(*words: str, worker: FakeWorker | None = None) -> tuple[list[LibraryMode | None], str]:
    """The modes that a command loaded its problem in, and what it printed."""
    made = worker or FakeWorker(problem=DOUBLE)
    result = run(*words, "--library", "any", worker=made)
    assert result.exit_code == 0, result.output
    return made.libraries, result.stdout


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("verify double mine.py", NAMED),
        ("bench double mine.py", NAMED),
        ("check double", 'LIBRARY = "any"'),
        ("import double mine.py", NAMED),
        ("profile double mine.py", ""),
        ("export mine.py --problem double --format kernelbench", ""),
        ("optimize double --trials 1", NAMED),
    ],
)
def test_a_command_loads_its_problem_in_the_mode_that_is_typed_and_names_it(words: str, shown: str) -> None:
    modes, text = loaded(*words.split())
    assert set(modes) == {"any"}
    assert shown in text


def test_documents_and_files_name_the_mode() -> None:
    for words in ("bench double --json", "check double --json", "profile double mine.py --json"):
        assert json.loads(loaded(*words.split())[1])["library"] == "any"
    assert json.loads(loaded("import", "double", "mine.py", "--out", "there", "--json")[1])["library"] == "any"
    loaded("export", "mine.py", "--problem", "double", "--format", "kernelbench")
    assert NAMED in Path("exports/double-kernelbench/double_model_new.py").read_text().partition("\n\n")[0]


def test_a_tuning_names_the_mode_in_every_file() -> None:
    modes, text = loaded("tune", "double", "--trials", "4", "--out", "out", worker=TuneWorker())
    assert modes == ["any"]
    assert NAMED in text
    assert json.loads(Path("out/best_config.json").read_text())["library"] == "any"
    assert ",any," in Path("out/history.csv").read_text()
    measurements = json.loads(Path("out/t4.json").read_text())["results"][0]["measurements"]
    assert {"name": "library steps", "value": "any", "unit": ""} in measurements


def test_without_the_option_the_problem_s_own_mode_counts() -> None:
    worker = FakeWorker(problem=msgspec.structs.replace(DOUBLE, library="finish"))
    assert "LIBRARY = 'finish'" in run("verify", "double", "mine.py", worker=worker).stdout
    assert worker.libraries == [None]


def test_where_the_mode_is_decided_the_option_is_refused() -> None:
    assert "no meaning with --recorded" in run("tune", "--recorded", "x", "--library", "any").stderr
    Path("one").mkdir()
    assert "it has its problem and config" in fault(run("export", "one", "--library", "any"))
