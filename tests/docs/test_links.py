"""Every link of README.md, docs/ and the other pages leads somewhere. Addresses elsewhere are not visited."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from pages import PAGES, anchors, links, named


def fault(page: Path, target: str) -> str | None:
    """What is wrong with a link of a page; None: nothing, or it leads to another machine."""
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = unquote(target).partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return f"{path} does not exist"
    if anchor and (file.suffix != ".md" or anchor not in anchors(file)):
        return f"{file.name} has no heading #{anchor}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    faults = [f"line {line}: {why}" for line, target in links(page) if (why := fault(page, target))]
    assert faults == []


def test_a_link_to_what_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `way` of two\n[a](no.md) [b](#one-way-of-two) [c](#two) [d](https://example.org) ![e](no.png)\n"
    )
    found = [fault(page, target) for _, target in links(page)]
    assert found == ["no.md does not exist", None, "page.md has no heading #two", None, "no.png does not exist"]
