"""What a page shows as Python, JSON or TOML is that."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pages import PAGES, ROOT, Code, codes, named, run


def python(text: str) -> None:
    """A line of a table stands alone, as it would between its braces."""
    ast.parse(f"{{\n{text}\n}}" if text.startswith("    ") else text)


READERS: dict[str, Callable[[str], Any]] = {"python": python, "json": json.loads, "toml": tomllib.loads}


def fault(code: Code) -> str | None:
    try:
        READERS[code.language](code.text)
    except (SyntaxError, ValueError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_code_on_a_page_is_of_its_language(page: Path) -> None:
    shown = [code for code in codes(page) if code.language in READERS]
    assert [(code.line, why) for code in shown if (why := fault(code))] == []


@pytest.mark.parametrize(("language", "text"), [("python", "def f(:"), ("json", "{'a': 1}"), ("toml", "a = b")])
def test_code_that_is_not_of_its_language_is_found(language: str, text: str) -> None:
    assert fault(Code(text, language, 1)) is not None


def test_pages_state_the_languages_of_their_code() -> None:
    known = {"", "sh", "python", "json", "toml", "yaml", "text", "console", "diff"}
    assert {code.language for page in PAGES for code in codes(page)} <= known


def test_the_python_of_the_page_on_tuning_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for code in codes(ROOT / "docs" / "tuning.md"):
        if code.language == "python":
            run(code.text, names)
    assert "replayed" in capsys.readouterr().out
