"""A real Chromium for tests of pages: the one that is installed, or that `playwright install chromium` fetched before.

Not a fake. The rule: nothing is downloaded here, and where no browser is to be had a test is skipped and says why.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_MS = 600_000
"""What is waited for may take long where many tests share few processors."""

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1180, "height": 900}


def installed() -> str | None:
    """Where Chromium is on this machine: KERNELWRIGHT_CHROMIUM, or one of its names on PATH."""
    return os.environ.get("KERNELWRIGHT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    with api.sync_playwright() as playwright:
        program = installed() or playwright.chromium.executable_path
        if not Path(program).exists():
            pytest.skip("no Chromium on this machine: apt-get install chromium, or playwright install chromium")
        # Chromium's own sandbox refuses to work for root, as which containers run; the pages here are our own.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=sandbox)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page with all that it did that a reader would not see. faults: errors and warnings, on the console or thrown.
    requests: every address that was asked for."""

    page: Page
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def visit(browser: Browser, url: str, dark: bool = False, size: dict[str, int] | None = None) -> Iterator[Visit]:
    """The page at `url` in a window of its own, loaded. size: DESK unless given, or PHONE."""
    context = browser.new_context(
        viewport=size or DESK,  # type: ignore[arg-type]
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    seen = Visit(context.new_page())

    def heard(message: Any) -> None:
        if message.type in ("error", "warning"):
            seen.faults.append(message.text)

    seen.page.on("console", heard)
    seen.page.on("pageerror", lambda error: seen.faults.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(url)
    yield seen
    context.close()
