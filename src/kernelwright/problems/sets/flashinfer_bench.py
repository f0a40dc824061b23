"""flashinfer-bench: a definition, `definitions/KIND/NAME.json`, with its workloads in `workloads/KIND/NAME.jsonl`.

The workloads may also be next to the definition, as `NAME.jsonl` or `NAME.workloads.json`.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.errors import ProblemError
from kernelwright.problems.sets.definition import random_values, read_definition, read_workloads, translated
from kernelwright.problems.sets.sol_execbench import DEFINITION
from kernelwright.problems.sets.written import write

NAME = "flashinfer-bench"


def problem_file(path: Path) -> Path | None:
    if path.suffix != ".json" or path.name == DEFINITION or not path.is_file():
        return None
    definition = read_definition(path)
    places = workload_files(path)
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise ProblemError(
            f"{path} has no workloads: tried {', '.join(map(str, places))}",
            "add one of these files: it states the sizes",
        )
    return write(translated(path, NAME, definition, read_workloads(file), random_values))


def workload_files(path: Path) -> list[Path]:
    """Possible paths of the workloads of a definition."""
    path = path.absolute()
    parts = list(path.parts)
    places = [path.with_suffix(".jsonl"), path.with_suffix(".workloads.json")]
    if "definitions" in parts:
        at = len(parts) - 1 - parts[::-1].index("definitions")
        places.insert(0, Path(*parts[:at], "workloads", *parts[at + 1 :]).with_suffix(".jsonl"))
    return places
