"""Creates a new problem folder to start from: a commented `problem.py` and a `starter.py` that passes.

The texts are data files in the folder `new/`, not modules of kernelwright.
"""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from kernelwright.errors import ProblemError
from kernelwright.problems.gallery import PROBLEM_FILE
from kernelwright.problems.paths import STARTER_FILE, ProblemPath, problem_at

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
    texts = resources.files("kernelwright.problems") / "new"
    for file in (PROBLEM_FILE, STARTER_FILE):
        text = (texts / f"{file}.txt").read_text(encoding="utf-8")
        (home / file).write_text(text.replace("{name}", name), encoding="utf-8")
    return problem_at(home / PROBLEM_FILE)
