"""Pieces of Markdown: a table, a fenced block, a line that is not too long. Pure.

It knows nothing of kernels. What is put in cannot end the piece it is put into.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def shortened(text: str, characters: int) -> str:
    """On one line, and no longer than that."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar within a cell would end it."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def fenced(text: str, language: str = "python") -> str:
    """A code block whose fence is longer than any run of backticks within."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
