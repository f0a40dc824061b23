"""The table of several problems as one HTML file: it fetches nothing, and each row links to the page of its run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from urllib.parse import quote

from kernelwright.report.files import PAGE
from kernelwright.report.page.html import style_text
from kernelwright.report.several import CAPTION, NO_DEVICE, Line, grid_of, tally_text, total_text, totals
from kernelwright.text.escape import legible

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
WIDE = "main{max-width:100rem}td.words:last-child{white-space:normal;min-width:16rem}"
"""The table has more columns than a run's page, and reasons wrap."""


def several_page(title: str, lines: Sequence[Line], pages: Collection[str], has_device: bool | None) -> str:
    """The page. pages: names of the problems whose run has a page in the folder of that name."""
    sums = "".join(f"<li>{escape(total_text(total))}</li>" for total in totals(lines))
    return legible(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}: {escape(tally_text(lines))}</title>\n"
        f'<link rel="icon" href="data:,">\n<style>{style_text()}{WIDE}</style>\n</head>\n<body>\n<main>\n'
        f'<p class="kicker">kernelwright</p>\n<h1>{escape(title)}</h1>\n'
        f'<p class="verdict">{escape(tally_text(lines))}</p>\n<ul class="remarks">{sums}</ul>\n'
        f"<section>{table_of(lines, pages)}\n"
        f'<p class="caption">{escape(NO_DEVICE if has_device is False else CAPTION)}</p></section>\n'
        "</main>\n</body>\n</html>\n"
    )


def table_of(lines: Sequence[Line], pages: Collection[str]) -> str:
    grid = grid_of(lines)
    words = [number == 0 or name in grid.left for number, name in enumerate(grid.header)]
    head = "".join(cell("th", escape(name), is_words) for name, is_words in zip(grid.header, words, strict=True))
    body = []
    for line, texts in zip(lines, grid.rows, strict=True):
        first = escape(texts[0])
        if line.name in pages:
            first = f'<a href="{escape(quote(line.name))}/{PAGE}">{first}</a>'
        cells = zip([first, *map(escape, texts[1:])], words, strict=True)
        body.append("<tr>" + "".join(cell("td", text, is_words) for text, is_words in cells) + "</tr>")
    rows = "\n".join(body)
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def cell(tag: str, content: str, is_words: bool) -> str:
    return f'<{tag} class="words">{content}</{tag}>' if is_words else f"<{tag}>{content}</{tag}>"
