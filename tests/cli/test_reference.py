"""The page of commands."""

from __future__ import annotations

from pathlib import Path

from kernelwright.cli.main import VERBS
from kernelwright.cli.reference import reference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"


def test_the_page_is_what_the_commands_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: make docs"


def test_every_verb_and_option_is_on_it() -> None:
    page = reference()
    assert all(f"\n## {name}\n" in page for name in VERBS)
    for option in (
        "--resume RUN",
        "--trials INTEGER",
        "--proposer TEXT",
        "--config KEY=VALUE or FILE",
        "--format text/md/html/json",
    ):
        assert f"`{option}`" in page, option
