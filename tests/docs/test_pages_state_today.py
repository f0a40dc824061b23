"""Pages and docstrings say what is so now. What was measured when, and what a commit changed, stands elsewhere.

Dates and this repository's commits belong to `benchmarks/results` and `CHANGELOG.md`; a paragraph that is long enough
to be skipped is a list.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from pages import PAGES, ROOT, named, tokens

TODAY = [page for page in PAGES if page.name != "CHANGELOG.md"]
DATE = re.compile(r"\b20[23]\d-[01]\d(?:-[0-3]\d)?\b")
COMMIT = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\b")
LONGEST = 700
"""Characters of a paragraph or of an item of a list, at most one less."""


def long_paragraphs(page: Path) -> list[str]:
    """Where each paragraph of at least `LONGEST` characters begins; cells of tables and code are none."""
    stream = tokens(page)
    texts = [
        (stream[place + 1].content, (token.map or [0])[0] + 1)
        for place, token in enumerate(stream)
        if token.type == "paragraph_open"
    ]
    return [f"line {line}: {len(text)} characters" for text, line in texts if len(text) >= LONGEST]


def dates(text: str) -> list[str]:
    return DATE.findall(text)


def docstrings() -> dict[str, str]:
    """The docstring of every module, by its path."""
    files = sorted((ROOT / "src").rglob("*.py"))
    found = {named(file): ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) for file in files}
    return {name: text for name, text in found.items() if text}


def own_commits(words: set[str]) -> set[str]:
    """The words that name a commit of this repository."""
    asked = sorted(words)
    done = subprocess.run(
        ["git", "cat-file", "--batch-check"], cwd=ROOT, input="\n".join(asked) + "\n", capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip("this is no checkout: git knows no commits here")
    return {word for word, line in zip(asked, done.stdout.splitlines(), strict=True) if " commit " in line}


@pytest.mark.parametrize("page", TODAY, ids=named)
def test_no_page_tells_a_date(page: Path) -> None:
    assert dates(page.read_text(encoding="utf-8")) == [], "a measurement and its date belong in benchmarks/results"


def test_no_docstring_of_a_module_tells_a_date() -> None:
    assert {name: found for name, text in docstrings().items() if (found := dates(text))} == {}


def test_no_page_and_no_docstring_names_a_commit_of_ours() -> None:
    texts = {named(page): page.read_text(encoding="utf-8") for page in TODAY} | docstrings()
    words = {name: set(COMMIT.findall(text)) for name, text in texts.items()}
    ours = own_commits(set().union(*words.values(), {"0000000a"}))
    assert {name: found & ours for name, found in words.items() if found & ours} == {}


@pytest.mark.parametrize("page", TODAY, ids=named)
def test_long_paragraphs_are_lists(page: Path) -> None:
    assert long_paragraphs(page) == []


def test_dates_commits_and_long_paragraphs_are_found(tmp_path: Path) -> None:
    short, long = tmp_path / "short.md", tmp_path / "long.md"
    short.write_text(f"# A\n\n{'word ' * 139}\n\n- {'item ' * 139}\n\n| {'cell ' * 200} |\n|---|\n\n    {'x' * 900}\n")
    long.write_text(f"{'word ' * 141}\n")
    assert (long_paragraphs(short), long_paragraphs(long)) == ([], ["line 1: 704 characters"])
    assert dates("on 2026-11-21, 2026-11; 2048-11, 10-12 µs, sm_90") == ["2026-11-21", "2026-11"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if head:
        assert own_commits({head[:8], "0000000a"}) == {head[:8]}
