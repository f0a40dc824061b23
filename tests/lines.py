"""Prints the lines of Python under src and tests, and fails where src has grown by more than 3 %: part of `make test`.

Tests that are data (`NOT_COUNTED`) are left out. A change that needs more lines under src moves SRC, and says why in
its commit.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = 74_075
"""Lines under src from which growth is counted."""
MOST_GROWTH = 0.03
NOT_COUNTED = ("exploits", "honest", "wrong")


def count(folder: Path, without: tuple[str, ...] = ()) -> int:
    """Lines of the Python files of a folder, less those of the folders in it that are named in `without`."""
    files = (file for file in folder.rglob("*.py") if file.relative_to(folder).parts[0] not in without)
    return sum(file.read_bytes().count(b"\n") for file in files)


def main(root: Path = ROOT, lines: int = SRC) -> int:
    src, tests, most = count(root / "src"), count(root / "tests", NOT_COUNTED), int(lines * (1 + MOST_GROWTH))
    print(f"lines of Python: src {src:,} (at most {most:,}), tests {tests:,} without {', '.join(NOT_COUNTED)}")
    if src > most:
        print(f"error: src has grown by more than {MOST_GROWTH:.0%} over {lines:,} (tests/lines.py)", file=sys.stderr)
    return int(src > most)


if __name__ == "__main__":
    sys.exit(main())
