"""`new`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from command_line import fault, run


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_new_problem_can_be_found_and_says_what_comes_next() -> None:
    result = run("new", "scaled")
    assert result.exit_code == 0
    assert "kernelwright verify scaled scaled/starter.py" in result.stdout
    for name in ("problem.py", "starter.py"):
        ast.parse(Path("scaled", name).read_text())


def test_nothing_that_exists_is_overwritten() -> None:
    Path("scaled").mkdir()
    Path("scaled/notes").write_text("mine")
    assert "exists already" in fault(run("new", "scaled"))
    assert [path.name for path in Path("scaled").iterdir()] == ["notes"]


def test_a_name_that_is_none_is_refused() -> None:
    assert "'../x' cannot be a problem's name" in fault(run("new", "../x"))
