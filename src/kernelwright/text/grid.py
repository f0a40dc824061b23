"""A table and a section of a page, as finished text. Records only; `html` and `markdown` lay them out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """left: the columns (beside the first) that hold words and not numbers."""

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
