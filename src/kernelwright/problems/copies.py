"""Copies a problem's files into a run folder, so that the run can be moved and keeps the same problem; creates a new
problem folder to start from.

Only files that a run needs are copied (`problem.py` or `NAME.py`, its sidecar with cases, the starter, and
`ProblemPath.beside`), no other files of the folder, and not `best.py`. A run folder has one problem, in `problem/`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright import codec
from kernelwright.errors import ProblemError, RunFolderError
from kernelwright.folders import write_file
from kernelwright.model import Case
from kernelwright.problems.paths import PROBLEM_FILE, STARTER_FILE, ProblemPath, problem_at
from kernelwright.problems.text import read_problem_text, states_cases
from kernelwright.templates import shipped
from kernelwright.textfile import parse_json, read_text

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

FOLDER = "problem"


def copy_problem(problem: ProblemPath, run_folder: Path, cases: Sequence[Case] = ()) -> ProblemPath:
    """Copy the files of `problem` to `run_folder`/problem; returns the copy, which has the same name.

    cases: all cases with which the problem was loaded. If some are derived, the copy's sidecar states them. Raises
    `RunFolderError` if the folder contains another problem.
    """
    home = f"{FOLDER}/{problem.name}" if problem.is_folder else FOLDER
    files = [file for file in (problem.file, problem.starter, problem.sidecar, *problem.beside) if file is not None]
    contents = {file: file.read_bytes() for file in files}
    if any(case.derived for case in cases):
        contents[problem.file.with_suffix(".cases.json")] = sidecar_text(problem, cases).encode()
    names = {file: file.relative_to(problem.file.parent).as_posix() for file in contents}
    copies = {f"{home}/{name}" for name in names.values()}
    there = {str(path.relative_to(run_folder)) for path in (run_folder / FOLDER).rglob("*") if path.is_file()}
    if strange := sorted(there - copies):
        raise RunFolderError(
            f"{run_folder} holds {strange[0]}, which is not of {problem.name}", "name another folder, or remove it"
        )
    run_folder.mkdir(parents=True, exist_ok=True)
    for file, name in names.items():
        write_file(run_folder, f"{home}/{name}", contents[file])
    return problem_at(run_folder / home / problem.file.name)


def contents_of(path: str) -> tuple[str, dict[str, bytes]]:
    """For a worker on another host: the relative path of the problem's file, and the contents of all its files by their
    relative paths. Raises `ProblemError` if there is no file at `path`, or no `problem.py` in a folder."""
    file = Path(path) / PROBLEM_FILE if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise ProblemError(f"no such problem: {path}", "name a file, or a folder with problem.py")
    problem = problem_at(file)
    home = Path(problem.name) if problem.is_folder else Path()
    files = [one for one in (problem.file, problem.sidecar, *problem.beside) if one is not None]
    names = {one: (home / one.relative_to(problem.file.parent)).as_posix() for one in files}
    return names[problem.file], {name: one.read_bytes() for one, name in names.items()}


def sidecar_text(problem: ProblemPath, cases: Sequence[Case]) -> str:
    """The text of the problem's sidecar with the derived ones of `cases` added. Cases in CASES stay in the file."""
    found: dict[str, Any] = {"cases": []}
    if problem.sidecar is not None:
        found = parse_json(read_text(problem.sidecar))
    elif not states_cases(read_problem_text(problem.file)):
        found["cases"] = [case for case in cases if not case.derived]
    stated = [*found["cases"], *found.get("tried", [])]
    known = {case["name"] for case in stated if isinstance(case, dict)}
    added = [case for case in cases if case.derived and case.name not in known]
    return codec.document_text({**found, "cases": [*found["cases"], *added]}) + "\n"


def problem_in_run(run_folder: Path) -> ProblemPath:
    """The problem that `copy_problem` wrote to `run_folder`; raises `RunFolderError` if it is missing."""
    folder = run_folder / FOLDER
    files = sorted([*folder.glob("*.py"), *folder.glob(f"*/{PROBLEM_FILE}")])
    if len(files) != 1:
        raise RunFolderError(
            f"{folder} holds {len(files)} problem files, expected one",
            "the run folder is incomplete or was changed: copy it whole from where the run was made",
        )
    return problem_at(files[0])


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
