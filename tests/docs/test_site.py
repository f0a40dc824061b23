"""The site is made from the pages without a warning, holds all of them, and fetches nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kernelwright
from pages import ROOT, links

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", str(DOCS)]
    ended = subprocess.run([*command, str(folder)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder


def test_every_page_is_in_the_contents_of_the_site() -> None:
    listed = {target for _, target in links(DOCS / "index.md")}
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert listed == pages - {"index.md"}


def test_every_page_is_on_the_site_and_can_be_reached_from_each(site: Path) -> None:
    pages = [page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")]
    start = (site / "start.html").read_text(encoding="utf-8")
    assert all((site / page).is_file() for page in pages)
    assert [
        page for page in pages if page.stem not in ("start", "index") and f'href="{page.as_posix()}"' not in start
    ] == []


def test_the_page_on_python_has_every_public_name_with_its_arguments(site: Path) -> None:
    page = (site / "python.html").read_text(encoding="utf-8")
    missing = [name for name, module in kernelwright.API.items() if f'id="{module}.{name}"' not in page]
    assert missing == []


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    fetched = r'(?:src|<link[^>]*href)="(?:https?:)?//[^"]*|@import|url\(["\']?https?:'
    found = {file.name: re.findall(fetched, file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_the_example_report_can_be_opened_from_its_page(site: Path) -> None:
    page = (site / "report.html").read_text(encoding="utf-8")
    [target] = re.findall(r'href="([^"]*/report\.html)"', page)
    assert (site / target).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_link_out_of_docs_is_only_its_words_on_the_site(site: Path) -> None:
    page = (site / "gallery.html").read_text(encoding="utf-8")
    assert "softmax" in page
    assert "../gallery" not in page
