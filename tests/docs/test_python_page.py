"""The Python on the README's first screen is short, and docs/python.md names what there is."""

from __future__ import annotations

import re

import kernelwright
from kernelwright.journal import Journal
from kernelwright.report.text import report_text
from kernelwright.report.view import read_run
from pages import ROOT, codes


def test_there_are_ten_lines_of_python_on_the_first_screen_of_the_readme() -> None:
    """tests/install/test_newcomer.py runs them with an installed wheel."""
    code = next(code for code in codes(ROOT / "README.md") if code.language == "python")
    assert len(code.text.strip().splitlines()) <= 12
    assert code.line < 20


def test_the_page_on_python_has_every_public_name() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)", page, flags=re.MULTILINE)) == set(kernelwright.API)


def test_the_readme_shows_what_a_report_prints_and_a_kernel_of_the_gallery() -> None:
    shown = codes(ROOT / "README.md")
    (printed,) = (code.text for code in shown if code.language == "text")
    *_, kernel = (code.text for code in shown if code.language == "python")
    with Journal.open(ROOT / "gallery/max_pool3d/runs/mailbox") as journal:
        assert report_text(read_run(journal)).startswith(printed)
    assert kernel in (ROOT / "gallery/embedding_bag/best.py").read_text(encoding="utf-8")
