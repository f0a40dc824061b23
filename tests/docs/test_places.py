"""Files and names of the code that a page speaks of are there.

The rule: a path is one from the root, from `src/kernelwright`, from the page or from a gallery problem; a part in
capitals (`NAME.py`) is a placeholder, and what leads to it has to be there.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages import PAGES, ROOT, codes, named

PACKAGE = ROOT / "src" / "kernelwright"
PATH = re.compile(r"(?:[\w.-]+/)+[\w.#-]+\.(?:py|md)|src/[\w/.-]+")
NAME_IN_FILE = re.compile(r"`(\w{3,})` in\s+`([\w/.]+\.py)`")
OF_A_RUN = ("RUN/", "runs/", "trace/")
"""What begins so is in the folder of a run."""


def found(page: Path, path: str) -> Path | None:
    """Where a path of a page leads, up to its placeholders; None where it leads nowhere."""
    parts = path.split("/")
    firm = next((place for place, part in enumerate(parts) if re.fullmatch(r"[A-Z]+(\.py|\.md)?", part)), len(parts))
    bases = (ROOT, PACKAGE, page.parent, *ROOT.glob("gallery/*/"))
    places = [base.joinpath(*parts[:firm]) for base in bases]
    return next((place for place in places if place.exists()), None)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    phrases = [code for code in codes(page) if code.inline and PATH.fullmatch(code.text)]
    paths = [(code.line, code.text) for code in phrases if not code.text.startswith(OF_A_RUN)]
    assert [(line, path) for line, path in paths if found(page, path) is None] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_name_that_a_page_places_in_a_file_is_in_it(page: Path) -> None:
    missing = []
    for name, path in NAME_IN_FILE.findall(page.read_text(encoding="utf-8")):
        file = found(page, path)
        if file is None or not re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")):
            missing.append((name, path))
    assert missing == []


def test_pages_name_files_and_what_is_in_them() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(NAME_IN_FILE.findall(text)) for text in texts) > 15


def test_a_file_that_is_not_there_is_found_missing() -> None:
    page = ROOT / "docs" / "extending.md"
    assert found(page, "search/nothing.py") is None
    assert found(page, "nowhere/NAME.py") is None
    assert found(page, "src/kernelwright/search/NAME.py") == PACKAGE / "search"
    assert found(page, "search/beam.py") == PACKAGE / "search" / "beam.py"
