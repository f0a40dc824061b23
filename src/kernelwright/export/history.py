"""`history.csv`: every tried config of a tuning; configs that passed have one row for each case.

The first six columns are those of the config tuner whose history format this follows: timestamp, name, ms, tflops,
status, config. A config that is read back is tried again: times from a file only decide the order.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.errors import ConfigError
from kernelwright.model import CaseInfo, LibraryMode
from kernelwright.text.escape import legible
from kernelwright.textfile import read_given
from kernelwright.tune.records import TimeKind, Tried

COLUMNS = (
    "timestamp",
    "name",
    "ms",
    "tflops",
    "status",
    "config",
    "generation",
    "case",
    "kind",
    "device",
    "library",
    "reason",
)


def history_text(
    tried: Sequence[Tried], cases: Sequence[CaseInfo], kind: TimeKind, device: str, library: LibraryMode
) -> str:
    """The text of the file. Column tflops: from the case's required FLOP; empty if not known. kind: whether times were
    measured, estimated or replayed. library: the library steps that the candidate was allowed."""
    flop = {info.case.name: info.flop for info in cases}
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for one in tried:
        row = {
            "timestamp": one.at,
            "name": one.name,
            "status": one.found.status.value,
            "config": json.dumps(one.config),
            "generation": one.generation,
            "reason": legible(" ".join(one.found.reason.split())),
        }
        if one.score_us is None:
            writer.writerow(row)
            continue
        for time in one.found.times:
            tflops = flop.get(time.case, 0) / time.median_us / 1e6
            timed = {"ms": f"{time.median_us / 1000:.6g}", "tflops": f"{tflops:.4g}" if tflops else ""}
            writer.writerow(row | timed | {"case": time.case, "kind": kind, "device": device, "library": library})
    return out.getvalue()


def history_rows(path: Path) -> list[dict[str, Any]]:
    """The configs in a history, each as values by name; the fastest first, configs without a time last."""
    return [config for config, _ in timed_rows(path)]


def timed_rows(path: Path) -> list[tuple[dict[str, Any], float | None]]:
    """The configs in a history, each with its shortest time in milliseconds (None: no time); the fastest first.

    A history may have the config in one column (JSON or a Python dict) or a column for each value. Raises `ConfigError`
    for a file without configs.
    """
    text = read_given(path, ConfigError, "give a history.csv")
    try:
        read = list(csv.DictReader(io.StringIO(text)))
    except csv.Error as error:
        raise ConfigError(f"{path} is not CSV: {error}", f"expected the columns {', '.join(COLUMNS[:6])}") from error
    best: dict[str, tuple[float, int, dict[str, Any]]] = {}
    for place, row in enumerate(read):
        config = config_of(row)
        if config:
            name = json.dumps(config, sort_keys=True, default=str)
            time_ms = number(row.get("ms"))
            best[name] = min(
                best.get(name, (math.inf, place, config)), (time_ms, place, config), key=lambda one: one[:2]
            )
    if not best:
        raise ConfigError(f"no row of {path} holds a config", f"expected the columns {', '.join(COLUMNS[:6])}")
    ordered = sorted(best.values(), key=lambda one: one[:2])
    return [(config, time_ms if math.isfinite(time_ms) else None) for time_ms, _, config in ordered]


def config_of(row: dict[str, Any]) -> dict[str, Any]:
    """The integer values of a row's config; other values cannot be tunables."""
    text = row.get("config")
    values: Any = {name: whole(value) for name, value in row.items() if name and name not in COLUMNS}
    if text:
        try:
            values = ast.literal_eval(text)  # JSON of names and integers is the same text as Python's
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return {}
    if not isinstance(values, dict):
        return {}
    return {str(name): value for name, value in values.items() if type(value) is int}


def whole(text: Any) -> int | None:
    try:
        return int(text)
    except (TypeError, ValueError):
        return None


def number(text: Any) -> float:
    """A time as a sort key; infinite for a text that is not a positive number."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return math.inf
    return value if value > 0 else math.inf
