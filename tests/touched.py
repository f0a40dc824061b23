"""Runs the tests whose imports lead to a file that differs from main or is not committed: `make touched`.

A change that only a worker's process meets is tested by the files that import it, and not by those that start a worker.
Arguments are handed to pytest.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from imports import TESTS, needed


def changed(folder: Path, base: str = "main") -> set[Path]:
    """The files of a checkout that differ from `base`, and those that git does not know yet."""
    listed = [["diff", "--name-only", "--merge-base", base], ["ls-files", "--others", "--exclude-standard"]]
    names = [
        subprocess.run(["git", *one], cwd=folder, check=True, capture_output=True, text=True).stdout for one in listed
    ]
    return {folder / name for text in names for name in text.splitlines()}


def touched(files: set[Path], tests: Path = TESTS) -> list[Path]:
    """The test files that import one of `files`, or are one."""
    every = sorted(one for one in tests.rglob("test_*.py") if "gpu" not in one.relative_to(tests).parts)
    return [one for one in every if any(file in files for file in needed(one, nested=True))]


def main() -> int:
    found = touched(changed(TESTS.parent))
    if not found:
        print("no test imports what was changed")
        return 0
    print(f"{len(found)} files of tests import what was changed")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not gpu", "-n", "auto", "--dist", "loadfile"]
    return subprocess.run([*command, *sys.argv[1:], *map(str, found)], cwd=TESTS.parent).returncode


if __name__ == "__main__":
    sys.exit(main())
