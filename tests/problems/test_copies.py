"""A problem's files inside a run folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.errors import RunFolderError
from kernelwright.problems import copy_problem, find_problem, problem_in_run


@pytest.fixture
def folder_problem(tmp_path: Path) -> Path:
    folder = tmp_path / "scan"
    folder.mkdir()
    for name in ("problem.py", "starter.py", "best.py", "problem.cases.json", "result.json"):
        (folder / name).write_text(f"{name} of scan")
    return folder


def test_a_folder_problem_is_copied_whole_and_alone(folder_problem: Path, tmp_path: Path) -> None:
    copy = copy_problem(find_problem(str(folder_problem)), tmp_path / "run")
    assert copy.name == "scan"
    assert copy.is_folder
    assert copy.starter is not None
    assert copy.sidecar is not None
    assert sorted(file.name for file in copy.file.parent.iterdir()) == [
        "problem.cases.json",
        "problem.py",
        "starter.py",
    ]
    assert copy.starter.read_text() == "starter.py of scan"


def test_modules_and_values_that_a_problem_reads_are_copied(folder_problem: Path, tmp_path: Path) -> None:
    package = folder_problem / "sources" / "mine"
    package.mkdir(parents=True)
    for file in (package / "__init__.py", package / "nets.py", package / "notes.txt", folder_problem / "example.pt"):
        file.write_text(file.name)
    copy = copy_problem(find_problem(str(folder_problem)), tmp_path / "run")
    assert [file.relative_to(copy.file.parent).as_posix() for file in copy.beside] == [
        "sources/mine/__init__.py",
        "sources/mine/nets.py",
        "example.pt",
    ]
    assert not (copy.file.parent / "sources" / "mine" / "notes.txt").exists()
    assert copy_problem(find_problem(str(folder_problem)), tmp_path / "run") == copy


def test_a_single_file_is_copied_with_its_cases_and_without_its_neighbours(tmp_path: Path) -> None:
    for name in ("relu.py", "relu.cases.json", "gelu.py", "gelu.cases.json"):
        (tmp_path / name).write_text(name)
    copy = copy_problem(find_problem(str(tmp_path / "relu.py")), tmp_path / "run")
    assert copy.name == "relu"
    assert not copy.is_folder
    assert sorted(file.name for file in copy.file.parent.iterdir()) == ["relu.cases.json", "relu.py"]


def test_a_moved_run_folder_still_holds_its_problem(folder_problem: Path, tmp_path: Path) -> None:
    copy_problem(find_problem(str(folder_problem)), tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    found = problem_in_run(tmp_path / "elsewhere")
    assert (found.name, found.file.read_text()) == ("scan", "problem.py of scan")


def test_copying_again_changes_nothing(folder_problem: Path, tmp_path: Path) -> None:
    first = copy_problem(find_problem(str(folder_problem)), tmp_path / "run")
    assert copy_problem(find_problem(str(folder_problem)), tmp_path / "run") == first
    assert problem_in_run(tmp_path / "run") == first


def test_a_run_folder_without_its_problem_is_said_to_be_incomplete(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds 0 problem files, expected one"):
        problem_in_run(tmp_path)


def test_a_run_folder_with_two_problems_is_refused(folder_problem: Path, tmp_path: Path) -> None:
    (tmp_path / "relu.py").write_text("")
    copy_problem(find_problem(str(folder_problem)), tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"holds problem/.*, which is not of relu"):
        copy_problem(find_problem(str(tmp_path / "relu.py")), tmp_path / "run")
    (tmp_path / "run" / "problem" / "relu.py").write_text("")
    with pytest.raises(RunFolderError, match="holds 2 problem files"):
        problem_in_run(tmp_path / "run")
