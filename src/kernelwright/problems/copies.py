"""A problem's files inside a run folder, so that the run can be moved and still means the same problem.

Copies only what a run needs (`problem.py` or `NAME.py`, the cases beside it, the starter, `sources/`, `example.pt`),
never what else lies in its folder, `best.py` included. A run folder holds one problem, under `problem/`.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.folders import write_file
from kernelwright.problems.paths import PROBLEM_FILE, ProblemPath, problem_at

FOLDER = "problem"


def copy_problem(problem: ProblemPath, run_folder: Path) -> ProblemPath:
    """Copy the files of `problem` under `run_folder`/problem; returns the copy, which has the same name.

    Raises `RunFolderError` where another problem lies there.
    """
    home = f"{FOLDER}/{problem.name}" if problem.is_folder else FOLDER
    files = [file for file in (problem.file, problem.starter, problem.sidecar, *problem.beside) if file is not None]
    names = {file: file.relative_to(problem.file.parent).as_posix() for file in files}
    copies = {f"{home}/{name}" for name in names.values()}
    there = {str(path.relative_to(run_folder)) for path in (run_folder / FOLDER).rglob("*") if path.is_file()}
    if strange := sorted(there - copies):
        raise RunFolderError(
            f"{run_folder} holds {strange[0]}, which is not of {problem.name}", "name another folder, or remove it"
        )
    run_folder.mkdir(parents=True, exist_ok=True)
    for file, name in names.items():
        write_file(run_folder, f"{home}/{name}", file.read_bytes())
    return problem_at(run_folder / home / problem.file.name)


def problem_in_run(run_folder: Path) -> ProblemPath:
    """The problem that `copy_problem` left in `run_folder`; raises `RunFolderError` where it is not there."""
    folder = run_folder / FOLDER
    files = sorted([*folder.glob("*.py"), *folder.glob(f"*/{PROBLEM_FILE}")])
    if len(files) != 1:
        raise RunFolderError(
            f"{folder} holds {len(files)} problem files, expected one",
            "the run folder is incomplete or was changed: copy it whole from where the run was made",
        )
    return problem_at(files[0])
