"""Docstrings and comments in plain words: these are riddles to a reader who knows Triton and not this project."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "kernelwright"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
RIDDLES = re.compile(
    r"\b(the one rule|so many|whoever|as it lies|lives on|dealt|let go|anew|held against)\b", re.IGNORECASE
)


def texts(tree: ast.Module) -> list[tuple[int, str]]:
    """Every string that stands as a statement: docstrings, and those below a constant."""
    return [
        (node.lineno, node.value.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


@pytest.mark.parametrize("file", sorted(SRC.rglob("*.py")), ids=lambda file: str(file.relative_to(SRC)))
def test_a_docstring_has_no_riddle(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert [f"line {line}: {text[:80]}" for line, text in texts(tree) if RIDDLES.search(" ".join(text.split()))] == []


PERSONIFIED = re.compile(r"\b(anew|(kernel|starter) (that )?stands)\b", re.IGNORECASE)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_has_no_riddle(page: Path) -> None:
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    assert [(number, line[:80]) for number, line in lines if RIDDLES.search(line) or PERSONIFIED.search(line)] == []


@pytest.mark.parametrize("folder", ["cli", "mcp", "api", "jobs", "report", "run", "tune"])
def test_a_message_says_the_best_and_not_what_stands(folder: str) -> None:
    found = [
        f"{file.name}: {node.value}"
        for file in sorted((SRC / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and PERSONIFIED.search(node.value)
    ]
    assert found == []
