"""From what a user typed to several problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import PROBLEM
from kernelwright.problems import problems_named


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("2_mul.py", "10_sum.py", "1_add.py"):
        Path("level").mkdir(exist_ok=True)
        Path("level", name).write_text(PROBLEM)
    for name in ("b", "a"):
        Path("folders", name).mkdir(parents=True)
        Path("folders", name, "problem.py").write_text(PROBLEM)
    return tmp_path


def test_a_folder_of_folders_stands_for_the_problems_in_it(folder: Path) -> None:
    assert problems_named(["folders"]) == [str(folder / "folders/a"), str(folder / "folders/b")]


def test_a_folder_of_files_stands_for_those_that_define_a_model_by_number() -> None:
    Path("level/util.py").write_text("WIDTH = 3\n")
    Path("level/3_broken.py").write_text("class Model(:\n")
    found = [Path(one).name for one in problems_named(["level"])]
    assert found == ["1_add.py", "2_mul.py", "3_broken.py", "10_sum.py"]


def test_a_folder_of_folders_and_files_stands_for_all_of_them(folder: Path) -> None:
    Path("folders/3_max.py").write_text(PROBLEM)
    named = problems_named(["folders"])
    assert named == [str(folder / "folders/a"), str(folder / "folders/b"), "folders/3_max.py"]


def test_a_problem_and_a_name_stand_for_themselves_and_none_comes_twice() -> None:
    named = ["softmax", "folders/a", "level/1_add.py", "softmax", "nowhere"]
    assert problems_named(named) == ["softmax", "folders/a", "level/1_add.py", "nowhere"]


def test_a_folder_without_problems_stands_for_itself() -> None:
    Path("empty").mkdir()
    assert problems_named(["empty"]) == ["empty"]
