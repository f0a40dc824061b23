"""Writes and reads T4, the interchange format of auto-tuners such as Kernel Tuner.

Schema 1.0.0 of results, from https://github.com/odgaard/TuningSchema (branch T4), as Kernel Tuner 1.x ships it in
kernel_tuner/schema/T4/1.0.0/results-schema.json. Times of kernels and of stages are milliseconds, as in Kernel Tuner
(`store_output_file` in kernel_tuner/file_utils.py). As with `history`, configs that are read back are tried again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.errors import ConfigError
from kernelwright.model import LibraryMode, Status
from kernelwright.textfile import parse_json, read_text
from kernelwright.tune.records import TimeKind, Tried

T4_VERSION = "1.0.0"

INVALIDITY = {
    Status.PASSED: "correct",
    Status.WRONG: "correctness",
    Status.COMPILE_ERROR: "compile",
    Status.RUNTIME_ERROR: "runtime",
    Status.CRASHED: "runtime",
    Status.TIMEOUT: "timeout",
    Status.REJECTED: "constraints",
    Status.NOT_VERIFIED: "correctness",
}
"""T4's word for each status. Its closed list has none for a crash or a refusal."""

STAGES = {"compile": "compilation_time", "time": "benchmark", "draws": "validation", "verify": "validation"}
"""T4's names of stages; all other stages count as `framework`."""


def t4_document(tried: Sequence[Tried], kind: TimeKind, device: str, library: LibraryMode) -> dict[str, Any]:
    """The T4 document as plain data. Each result also has its status, its reason, the kind of its time, and the library
    steps that the candidate was allowed."""
    return {"schema_version": T4_VERSION, "results": [result(one, kind, device, library) for one in tried]}


def result(tried: Tried, kind: TimeKind, device: str, library: LibraryMode) -> dict[str, Any]:
    found = tried.found
    times: dict[str, Any] = {"framework": 0.0, "search_algorithm": 0.0}
    for stage, seconds in found.stages_s.items():
        name = STAGES.get(stage, "framework")
        times[name] = round(times.get(name, 0.0) + seconds * 1000, 3)
    times["runtimes"] = [time.median_us / 1000 for time in found.times] if tried.score_us is not None else []
    measurements: list[dict[str, Any]] = []
    if tried.score_us is not None:
        measurements.append({"name": "time", "value": tried.score_us / 1000, "unit": "ms"})
        for time in found.times if len(found.times) > 1 else ():
            measurements.append({"name": f"time {time.case}", "value": time.median_us / 1000, "unit": "ms"})
    texts = {"status": found.status.value, "reason": found.reason, "time is": kind, "device": device}
    texts["library steps"] = library
    measurements += [{"name": name, "value": text, "unit": ""} for name, text in texts.items() if text]
    return {
        "timestamp": tried.at,
        "configuration": tried.config,
        "objectives": ["time"],
        "times": times,
        "invalidity": INVALIDITY[found.status],
        "correctness": 1 if found.status is Status.PASSED else 0,
        "measurements": measurements,
    }


def t4_rows(path: Path) -> list[dict[str, Any]]:
    """The configs of a T4 file, the fastest first, invalid ones last. Raises `ConfigError` if it is not a T4 file."""
    try:
        document = parse_json(read_text(path))
        results = document["results"]
        found = [(time_of(one), place, integers(one["configuration"])) for place, one in enumerate(results)]
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(
            f"{path} is no T4 results file: {type(error).__name__}: {error}",
            "expected {schema_version, results: [{configuration, times, invalidity, …}]}",
        ) from error
    return [config for _, _, config in sorted(found, key=lambda one: one[:2]) if config]


def integers(configuration: dict[str, Any]) -> dict[str, int]:
    return {str(name): value for name, value in configuration.items() if type(value) is int}


def time_of(entry: dict[str, Any]) -> float:
    """The objective as a sort key; infinite for an invalid result."""
    if entry.get("invalidity", "correct") != "correct":
        return math.inf
    objective = (entry.get("objectives") or ["time"])[0]
    values = [one["value"] for one in entry.get("measurements", ()) if one.get("name") == objective]
    values += list(entry.get("times", {}).get("runtimes", ()))
    numbers = [float(value) for value in values if isinstance(value, int | float) and 0 < value < 2**62]
    return numbers[0] if numbers else math.inf
