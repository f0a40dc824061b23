"""Reader of the output of `ncu --csv --page raw`. Pure: no process is started here.

One line of names, one of units, one for each launch, with ncu's own messages ("==PROF== …") between them. A cell that
is empty or holds no number ("n/a") is a counter that was not read.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from kernelwright.model import Counter, LaunchProfile
from kernelwright.worker.profile.readings import normalised

TOOL = "ncu"
OF_THE_DEVICE = ("device__", "nvlink__", "numa__", "c2clink__")
"""What is the same for every kernel."""

KERNEL, GRID, BLOCK = "Kernel Name", "Grid Size", "Block Size"


def launches(text: str, names: Mapping[str, str], full: bool = False) -> tuple[LaunchProfile, ...]:
    """One for each launch, in order. names: ours, by ncu's. full: also metrics that have none, under their own; ncu
    adds some hundred about the device, and the least, largest and mean of each, whatever it is asked for.

    Raises ValueError where the text holds no table.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(lines))
    if len(rows) < 2 or KERNEL not in rows[0]:
        raise ValueError(f"ncu wrote no table: {text.strip()[-300:]!r}")
    header, units = rows[0], rows[1]
    return tuple(launch(dict(zip(header, zip(row, units, strict=True), strict=True)), names, full) for row in rows[2:])


def launch(cells: Mapping[str, tuple[str, str]], names: Mapping[str, str], full: bool) -> LaunchProfile:
    """A line's launch. cells: text and unit by column."""
    counters = []
    for metric, (text, unit) in cells.items():
        wanted = metric in names or (full and "__" in metric and not metric.startswith(OF_THE_DEVICE))
        value = number(text) if wanted else None
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
