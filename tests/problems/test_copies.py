"""A problem's files inside a run folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelwright.errors import RunFolderError
from kernelwright.model import Case
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


TEXT = "Model = get_inputs = get_init_inputs = None\n"
DERIVED = Case(name="derived_small", small=True, derived=True, params={"rows": 3, "shape[0]": 5})


def names_in(sidecar: Path) -> list[str]:
    return [case["name"] for case in json.loads(sidecar.read_text())["cases"]]


def test_derived_cases_are_written_beside_the_copy_and_not_beside_the_original(tmp_path: Path) -> None:
    (tmp_path / "relu.py").write_text(TEXT)
    copy = copy_problem(find_problem(str(tmp_path / "relu.py")), tmp_path / "run", [Case(name="default"), DERIVED])
    assert copy.sidecar is not None
    assert names_in(copy.sidecar) == ["default", "derived_small"]
    entry = json.loads(copy.sidecar.read_text())["cases"][1]
    assert entry["derived"] is True
    assert entry["params"] == {"rows": 3, "shape[0]": 5}
    assert not (tmp_path / "relu.cases.json").exists()
    assert copy_problem(find_problem(str(copy.file)), tmp_path / "again").sidecar is not None


def test_beside_cases_in_the_file_only_derived_ones_are_written(tmp_path: Path) -> None:
    (tmp_path / "relu.py").write_text(TEXT + "CASES = [dict(name='large')]\n")
    copy = copy_problem(find_problem(str(tmp_path / "relu.py")), tmp_path / "run", [Case(name="large"), DERIVED])
    assert copy.sidecar is not None
    assert names_in(copy.sidecar) == ["derived_small"]


def test_without_derived_cases_no_sidecar_is_written(tmp_path: Path) -> None:
    (tmp_path / "relu.py").write_text(TEXT)
    copy = copy_problem(find_problem(str(tmp_path / "relu.py")), tmp_path / "run", [Case(name="default")])
    assert copy.sidecar is None


def test_what_else_a_sidecar_says_stays_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / "relu.py").write_text(TEXT)
    stated = {"cases": [{"name": "large", "params": {"rows": 9}}], "layouts": "any", "mutates": ["x"]}
    (tmp_path / "relu.cases.json").write_text(json.dumps(stated))
    cases = [Case(name="large", params={"rows": 9}), DERIVED]
    copy = copy_problem(find_problem(str(tmp_path / "relu.py")), tmp_path / "run", cases)
    assert copy.sidecar is not None
    found = json.loads(copy.sidecar.read_text())
    assert {key: found[key] for key in ("layouts", "mutates")} == {"layouts": "any", "mutates": ["x"]}
    assert names_in(copy.sidecar) == ["large", "derived_small"]
