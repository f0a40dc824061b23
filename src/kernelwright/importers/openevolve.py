"""Importer for OpenEvolve's checkpoints: `checkpoint_N/` with metadata.json and programs/ID.json, or a folder of them.

Of several checkpoints the last one is read. Each evaluator of OpenEvolve defines its own metrics, so they are stored
unchanged and only decide the order of seeds. A checkpoint is JSON; nothing in it is run or unpickled.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kernelwright.errors import RequestError
from kernelwright.importers.seed import Found, Gathering, is_number, object_of, scalars
from kernelwright.model import Candidate

PROGRAMS = "programs"
SCORE = "combined_score"
NUMBERED = re.compile(r"checkpoint_(\d+)$")


def claims(path: Path) -> bool:
    return path.is_dir() and checkpoint(path) is not None


def read(path: Path, starter: Candidate | None) -> Found:
    home = checkpoint(path)
    if home is None:
        raise RequestError(f"{path} holds no checkpoint", f"expected a folder with {PROGRAMS}/")
    gathering = Gathering()
    files = sorted((home / PROGRAMS).glob("*.json"))
    programs = [(file, object_of(file)) for file in files]
    for file, program in sorted(programs, key=lambda one: -score(one[1])):
        code = program.get("code")
        name = f"program {file.stem[:12]}"
        if not isinstance(code, str):
            gathering.useless[name] = "it has no code"
            continue
        said = scalars(metrics(program)) | scalars(program, ("generation", "iteration_found"))
        gathering.add(name, code, file, said)
    return gathering.found()


def checkpoint(path: Path) -> Path | None:
    """The checkpoint at `path`, or the last one below it; None if there is none."""
    if (path / PROGRAMS).is_dir():
        return path
    found = [*path.glob(f"checkpoint_*/{PROGRAMS}"), *path.glob(f"checkpoints/checkpoint_*/{PROGRAMS}")]
    numbered = [(int(match[1]), one.parent) for one in found if (match := NUMBERED.search(one.parent.name))]
    return max(numbered, default=(0, None))[1]


def metrics(program: dict[str, Any]) -> dict[str, Any]:
    found = program.get("metrics")
    return found if isinstance(found, dict) else {}


def score(program: dict[str, Any]) -> float:
    """The score by which OpenEvolve ranks programs: the combined score, else the mean of all numbers."""
    numbers = {name: float(value) for name, value in metrics(program).items() if is_number(value)}
    if SCORE in numbers:
        return numbers[SCORE]
    return sum(numbers.values()) / len(numbers) if numbers else float("-inf")
