"""Pieces of Markdown: a table, a fenced code block, a shortened line.

Content is escaped or fenced so that it cannot end its table cell or code block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def shortened(text: str, characters: int) -> str:
    """`text` on one line of at most this number of characters."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def fenced(text: str, language: str = "python") -> str:
    """A code block with a fence longer than any run of backticks in `text`."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
