"""The table of results: JSON lines, appended one at a time, and what they come to.

A line is written when its case is over and never changed, so a measurement goes on where it stopped.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class Table:
    def __init__(self, file: Path) -> None:
        self._file = file

    def rows(self) -> list[Row]:
        """A last line that was cut off counts for nothing."""
        if not self._file.exists():
            return []
        found = []
        for line in self._file.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def append(self, row: Row) -> None:
        with self._file.open("ab+") as file:
            file.seek(0, os.SEEK_END)
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(json.dumps(row).encode() + b"\n")


def summary(rows: list[Row]) -> str:
    """The table, as Markdown."""
    lines = ["| what | result |", "|---|---|"]
    for mode in ("stand-in", "real"):
        runs = [row for row in rows if row["kind"] == "run" and row["mode"] == mode]
        if runs:
            lines.append(_kills(mode, runs))
    for category in dict.fromkeys(row["category"] for row in rows if row["kind"] == "fuzz"):
        cases = [row for row in rows if row["kind"] == "fuzz" and row["category"] == category]
        flags = Counter(flag for row in cases for flag in row["flags"])
        said = ", ".join(f"{count} {flag}" for flag, count in flags.most_common()) or "none flagged"
        flagged = [row["index"] for row in cases if row["flags"]]
        named = f" (cases {', '.join(map(str, flagged[:12]))}{', …' if len(flagged) > 12 else ''})" if flagged else ""
        lines.append(f"| {category} fuzz | {len(cases)} cases, {said}{named} |")
    return "\n".join(lines)


def _kills(mode: str, runs: list[Row]) -> str:
    killed = Counter(role for row in runs for role in row["killed"])
    comparable = [row for row in runs if row["same_events"] is not None]
    said = [
        f"{sum(row['same_trials'] for row in runs)} of {len(runs)} runs ended with the same trials",
        f"{sum(row['same_events'] for row in comparable)} of {len(comparable)} event by event",
        f"{sum(row['asked_twice'] for row in runs)} answers paid twice",
        f"{sum(bool(row['left_running']) for row in runs)} runs left a process",
        f"{sum(bool(row['left_files']) for row in runs)} left files in scratch",
        f"{sum(row['tracebacks'] for row in runs)} tracebacks",
        f"longest until everything of a killed coordinator was gone {max(row['gone_s'] for row in runs):.1f} s",
    ]
    roles = ", ".join(f"{role} {count}" for role, count in killed.most_common())
    return f"| kill -9, {mode}: {killed.total()} kills in {len(runs)} runs ({roles}) | {'; '.join(said)} |"
