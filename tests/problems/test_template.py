"""Where a new problem may be written. That its starter passes is shown in test_gallery."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernelwright.errors import ProblemError
from kernelwright.problems import find_problem, new_problem


def test_a_new_problem_is_found_by_its_folder(tmp_path: Path) -> None:
    made = new_problem("scan_2", tmp_path / "mine")
    assert find_problem(str(tmp_path / "mine" / "scan_2")) == made
    for file in (made.file, made.starter):
        assert file is not None
        assert "scan_2" in file.read_text()
        assert "{name}" not in file.read_text()


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "scan").mkdir()
    assert new_problem("scan", tmp_path).starter is not None


def test_nothing_that_exists_is_overwritten(tmp_path: Path) -> None:
    kept = tmp_path / "scan" / "problem.py"
    kept.parent.mkdir()
    kept.write_text("mine")
    with pytest.raises(ProblemError, match="exists already and is not an empty folder"):
        new_problem("scan", tmp_path)
    assert kept.read_text() == "mine"
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ProblemError, match="exists already"):
        new_problem("taken", tmp_path)


@pytest.mark.parametrize("name", ["", "2fast", "a b", "../up", "a/b", ".", "-x"])
def test_a_name_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(repr(name))):
        new_problem(name, tmp_path)
    assert list(tmp_path.iterdir()) == []
