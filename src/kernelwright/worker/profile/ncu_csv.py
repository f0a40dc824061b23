"""What `ncu --csv --page raw` writes, read. Pure: no process is started here.

One line of names, one of units, one for each launch, with ncu's own messages ("==PROF== …") between them. A cell that
is empty or holds no number ("n/a") is a counter that was not read.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from kernelwright.model import Counter, LaunchProfile
from kernelwright.worker.profile.readings import normalised

TOOL = "ncu"
KERNEL, GRID, BLOCK = "Kernel Name", "Grid Size", "Block Size"


def launches(text: str, names: Mapping[str, str]) -> tuple[LaunchProfile, ...]:
    """One for each launch, in order. names: ours, by ncu's; a metric without one keeps its own.

    Raises ValueError where the text holds no table.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(lines))
    if len(rows) < 2 or KERNEL not in rows[0]:
        raise ValueError(f"ncu wrote no table: {text.strip()[-300:]!r}")
    header, units = rows[0], rows[1]
    return tuple(launch(dict(zip(header, zip(row, units, strict=True), strict=True)), names) for row in rows[2:])


def launch(cells: Mapping[str, tuple[str, str]], names: Mapping[str, str]) -> LaunchProfile:
    """A line's launch. cells: text and unit by column; the columns that identify a launch have no unit and stand before
    the metrics, whose names all have two underscores or a dot in them."""
    counters = []
    for metric, (text, unit) in cells.items():
        value = number(text) if "__" in metric or "." in metric else None
        if value is not None:
            amount, ours = normalised(value, unit)
            counters.append(Counter(name=names.get(metric, metric), value=amount, unit=ours, tool=TOOL, metric=metric))
    return LaunchProfile(
        kernel=cells[KERNEL][0],
        grid=sizes(cells.get(GRID, ("", ""))[0]),
        block=sizes(cells.get(BLOCK, ("", ""))[0]),
        counters=tuple(counters),
    )


def number(text: str) -> float | None:
    """ "1,234.5" as a number; None where it is none ("", "n/a", a name)."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def sizes(text: str) -> tuple[int, ...]:
    """ "(128, 1, 1)" as numbers, also with commas within them; () where it is not of that form."""
    if not (text.startswith("(") and text.endswith(")")):
        return ()
    parts = [part.replace(",", "") for part in text[1:-1].split(", ")]
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()
