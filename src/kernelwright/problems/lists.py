"""Resolves command-line arguments to several problems: folders of problems, and single problems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernelwright.problems.gallery import PROBLEM_FILE
from kernelwright.problems.paths import problems_in
from kernelwright.problems.sets import problem_file

MODEL = re.compile(rb"^class Model\b", re.MULTILINE)
"""Pattern that identifies a problem's file among Python files, even if its syntax is broken."""


def problems_named(arguments: Sequence[str]) -> list[str]:
    """The problems that these arguments name, each once, in their order. A folder that is not itself a problem means
    all problems in it: its subfolders with a `problem.py`, and its Python files that define Model."""
    return list(dict.fromkeys(place for argument in arguments for place in expanded(argument)))


def expanded(argument: str) -> list[str]:
    """The problems of a folder of problems; the argument itself otherwise."""
    folder = Path(argument).expanduser()
    if not folder.is_dir() or (folder / PROBLEM_FILE).is_file() or problem_file(folder) is not None:
        return [argument]
    inside = [str(found.file.parent) for found in problems_in(argument)]
    files = [str(file) for file in sorted(folder.glob("*.py"), key=by_number) if is_problem(file)]
    return [*inside, *files] or [argument]


def is_problem(file: Path) -> bool:
    return file.is_file() and MODEL.search(file.read_bytes()) is not None


def by_number(file: Path) -> tuple[int, str]:
    """Sort key by the leading number: 10_softmax.py comes after 2_matmul.py."""
    found = re.match(r"\d+", file.name)
    return int(found[0]) if found else -1, file.name
