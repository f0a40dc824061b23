"""Creates a new problem folder to start from: a commented `problem.py` and a `starter.py` that passes."""

from __future__ import annotations

import re
from pathlib import Path

from kernelwright.errors import ProblemError
from kernelwright.problems.paths import PROBLEM_FILE, STARTER_FILE, ProblemPath, problem_at
from kernelwright.templates import shipped

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def new_problem(name: str, folder: Path) -> ProblemPath:
    """Write the problem `name` to `folder`/`name`, which must be missing or an empty folder. Raises `ProblemError`."""
    if not _NAME.fullmatch(name):
        raise ProblemError(
            f"{name!r} cannot be a problem's name", "use letters, digits, _ and -, beginning with a letter"
        )
    home = folder / name
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise ProblemError(f"{home} exists already and is not an empty folder", "choose another name or remove it")
    home.mkdir(parents=True, exist_ok=True)
    for file in (PROBLEM_FILE, STARTER_FILE):
        text = shipped("kernelwright.problems", f"new/{file}.txt")
        (home / file).write_text(text.replace("{name}", name), encoding="utf-8")
    return problem_at(home / PROBLEM_FILE)
