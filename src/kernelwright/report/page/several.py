"""The table of several problems as one HTML file: it fetches nothing, and each row links to the page of its run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import quote

from kernelwright.report.files import PAGE
from kernelwright.report.page.html import rendered
from kernelwright.report.several import CAPTION, NO_DEVICE, Line, grid_of, tally_text, total_text, totals

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def several_page(title: str, lines: Sequence[Line], pages: Collection[str], has_device: bool | None) -> str:
    """The page. pages: names of the problems whose run has a page in the folder of that name."""
    return rendered(
        "several.html.j2",
        title=title,
        tally=tally_text(lines),
        totals=[total_text(total) for total in totals(lines)],
        table=grid_of(lines),
        links={name: f"{quote(name)}/{PAGE}" for name in pages},
        caption=NO_DEVICE if has_device is False else CAPTION,
        policy=POLICY,
    )
