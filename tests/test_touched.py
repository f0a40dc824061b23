"""Which tests `make touched` runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from imports import TESTS
from touched import changed, touched

pytestmark = pytest.mark.process
SRC = TESTS.parent / "src" / "kernelwright"


def test_a_changed_file_is_tested_by_those_that_import_it_directly_or_not() -> None:
    found = {str(one.relative_to(TESTS)) for one in touched({SRC / "report" / "convergence.py"})}
    assert "report/test_convergence.py" in found
    assert "worker/judge/test_choices.py" not in found
    helper = {str(one.relative_to(TESTS)) for one in touched({TESTS / "running.py"})}
    assert {"run/test_waiting.py", "run/test_optimize.py"} <= helper
    assert touched({TESTS / "worker" / "judge" / "test_choices.py"}) == [TESTS / "worker" / "judge" / "test_choices.py"]
    assert touched({TESTS.parent / "README.md"}) == []


def test_what_differs_from_main_or_is_new_is_changed(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words], cwd=tmp_path, check=True)

    git("init", "-q", "-b", "main")
    for name in ("kept", "edited", "committed"):
        (tmp_path / name).write_text("1\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    git("switch", "-q", "-c", "other")
    (tmp_path / "committed").write_text("2\n")
    git("commit", "-q", "-a", "-m", "second")
    (tmp_path / "edited").write_text("2\n")
    (tmp_path / "new").write_text("1\n")
    assert changed(tmp_path) == {tmp_path / name for name in ("committed", "edited", "new")}
