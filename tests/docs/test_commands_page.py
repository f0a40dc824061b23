"""The page of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

import scripts
from kernelwright.cli.main import VERBS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def made() -> str:
    """The page as the script makes it."""
    page = scripts.script("commands_page", DOCS).commands_page()
    assert isinstance(page, str)
    return page


def test_the_page_is_what_the_commands_say(made: str) -> None:
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == made, "run: make docs"


def test_every_verb_and_option_is_on_it(made: str) -> None:
    assert all(f"\n## {name}\n" in made for name in VERBS)
    for option in (
        "--resume RUN",
        "--trials INTEGER",
        "--proposer TEXT",
        "--config KEY=VALUE or FILE",
        "--format text/md/html/json",
    ):
        assert f"`{option}`" in made, option
