"""Parser of the output of `ncu --csv --page raw`. Pure: no process is started here.

The output has one line of names, one of units, and one for each launch, with ncu's messages ("==PROF== …") between
them. A cell that is empty or not a number ("n/a") is a counter that was not read.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from kernelwright.model import Counter, LaunchProfile
from kernelwright.worker.profile.readings import normalised

TOOL = "ncu"
OF_THE_DEVICE = ("device__", "nvlink__", "numa__", "c2clink__")
"""Prefixes of metrics that describe the device and are the same for every kernel."""

KERNEL, GRID, BLOCK = "Kernel Name", "Grid Size", "Block Size"


def launches(text: str, names: Mapping[str, str], full: bool = False) -> tuple[LaunchProfile, ...]:
    """One profile for each launch, in order. names: our names of counters, by ncu's. full: also return metrics that are
    not in `names`, under ncu's name, except those of the device. ncu adds hundreds of these to any request.

    Raises ValueError if the text contains no table.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(lines))
    if len(rows) < 2 or KERNEL not in rows[0]:
        raise ValueError(f"ncu wrote no table: {text.strip()[-300:]!r}")
    header, units = rows[0], rows[1]
    return tuple(launch(dict(zip(header, zip(row, units, strict=True), strict=True)), names, full) for row in rows[2:])


def launch(cells: Mapping[str, tuple[str, str]], names: Mapping[str, str], full: bool) -> LaunchProfile:
    """The profile in one line. cells: text and unit by column."""
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
    """A text such as "1,234.5" as a number; None if it is not a number ("", "n/a", a name)."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def sizes(text: str) -> tuple[int, ...]:
    """A text such as "(128, 1, 1)" as numbers, which may contain commas; () for any other text."""
    if not (text.startswith("(") and text.endswith(")")):
        return ()
    parts = [part.replace(",", "") for part in text[1:-1].split(", ")]
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()
