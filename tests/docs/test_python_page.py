"""The Python on the README's first screen runs, and docs/python.md names what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import kernelwright
from pages import ROOT, codes


def test_the_python_on_the_first_screen_of_the_readme_runs(tmp_path: Path) -> None:
    (code,) = (code for code in codes(ROOT / "README.md") if code.language == "python")
    assert len(code.text.strip().splitlines()) <= 12
    assert code.line < 20
    (tmp_path / "first.py").write_text(code.text)
    done = subprocess.run(
        [sys.executable, "first.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("right\nmine qualifies: no trivial answer passes")
    assert (tmp_path / "problems" / "mine" / "problem.py").is_file()


def test_the_page_on_python_has_every_public_name() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)", page, flags=re.MULTILINE)) == set(kernelwright.API)
