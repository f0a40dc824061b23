"""Writes a converted problem of a set as an ordinary problem into a folder that is removed when this process ends."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kernelwright.codec import encode
from kernelwright.model import Case, StatedBySet

PROBLEM_FILE = "problem.py"
SOURCES_FOLDER = "sources"


class Translated(NamedTuple):
    """A converted problem of a set. text: of problem.py. tried: additional cases; those that the reference refuses are
    left out. sources: texts of the modules in `sources/`, by their path in it."""

    name: str
    text: str
    cases: tuple[Case, ...]
    tried: tuple[Case, ...]
    stated: StatedBySet
    sources: Mapping[str, str] = {}


def write(problem: Translated) -> Path:
    """Write the files; returns the path of problem.py. A run copies them into its folder."""
    name = re.sub(r"[^\w.-]+", "_", problem.name).strip("._") or "problem"
    folder = Path(tempfile.mkdtemp(dir=_home().name)) / name
    folder.mkdir()
    file = folder / PROBLEM_FILE
    file.write_text(problem.text, encoding="utf-8")
    for path, text in problem.sources.items():
        source = folder / SOURCES_FOLDER / path
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text, encoding="utf-8")
    sidecar = {"cases": problem.cases, "tried": problem.tried, "stated": problem.stated}
    file.with_suffix(".cases.json").write_bytes(encode(sidecar))
    return file


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    """The temporary folder, removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="kernelwright-")
