"""Records of a table and of a section with formatted cells; here as text, in `report/page` as HTML and Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.text.table import table


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
