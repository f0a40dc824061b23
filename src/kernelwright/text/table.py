"""A plain text table: aligned columns without lines, for files, logs and narrow terminals; and tables and sections as
records of formatted cells, which `report/page` shows as HTML and Markdown.

The first column and the columns named in `left` are aligned left; all others contain numbers and are aligned right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str] = ()) -> str:
    """`rows` under `header`, with two spaces between columns and no trailing blanks."""
    for row in rows:
        assert len(row) == len(header), (header, row)
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    leftward = [column == 0 or name in left for column, name in enumerate(header)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if reads_left else cell.rjust(width)
            for cell, width, reads_left in zip(line, widths, leftward, strict=True)
        ).rstrip()
        for line in lines
    )


def indented(text: str, by: str = "  ") -> str:
    """`text` with every line that is not empty indented."""
    return "\n".join(by + line if line else line for line in text.splitlines())


@dataclass(frozen=True)
class Grid:
    """A table. left: the columns, besides the first, that contain words and not numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[str] = frozenset()

    def filled(self) -> Grid:
        """Without the columns that are empty in every row."""
        kept = [column for column in range(len(self.header)) if any(row[column] not in ("", "-") for row in self.rows)]
        rows = tuple(tuple(row[column] for column in kept) for row in self.rows)
        return Grid(tuple(self.header[column] for column in kept), rows, self.left)


NO_GRID = Grid((), ())


@dataclass(frozen=True)
class Section:
    """A table with a heading, and sentences beside it."""

    id: str
    title: str
    grid: Grid
    notes: tuple[str, ...] = ()


def section_text(section: Section) -> str:
    """Its sentences, then its table."""
    parts = ["\n".join(section.notes), grid_text(section.grid) if section.grid.rows else ""]
    return "\n\n".join(part for part in parts if part)


def grid_text(grid: Grid) -> str:
    return table(grid.header, grid.rows, left=grid.left)
