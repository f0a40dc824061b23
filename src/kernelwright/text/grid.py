"""Records of a table and of a page section with formatted cells; `html` and `markdown` render them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A table. left: the columns, besides the first, that contain words and not numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Section:
    """A table with a separate heading, for parts that only some runs have."""

    id: str
    title: str
    grid: Grid
    notes: tuple[str, ...] = ()
