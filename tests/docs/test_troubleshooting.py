"""docs/troubleshooting.md quotes messages that the code has, and commands that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from pages import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
QUOTED = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def texts(tree: ast.AST) -> Iterator[str]:
    """The strings of a file; what an f-string fills in is `…`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def said() -> str:
    files = sorted((ROOT / "src").rglob("*.py"))
    return "\n".join(text for file in files for text in texts(ast.parse(file.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_one_of_the_code(message: str, said: str) -> None:
    assert message.strip(" …") in said


def test_the_page_has_messages_and_finds_one_that_nobody_says(said: str) -> None:
    assert len(QUOTED) > 25
    assert "the kernel is too slow, sorry" not in said
