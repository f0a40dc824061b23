"""Docstrings and comments in plain words: these are riddles to a reader who knows Triton and not this project."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "kernelwright"
RIDDLES = re.compile(r"\b(the one rule|so many|whoever|as it lies|lives on|dealt|let go)\b", re.IGNORECASE)


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
