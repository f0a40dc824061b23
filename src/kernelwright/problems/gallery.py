"""Folders of problems that can be named without a path: `./problems`, `./gallery` and the gallery of kernelwright."""

from __future__ import annotations

from pathlib import Path

from kernelwright.text.escape import is_fit

PROBLEM_FILE = "problem.py"
GALLERY = "gallery"
WRITTEN = "problems"
"""Where problems of live modules are written, unless another folder is named."""
PACKAGE = Path(__file__).parents[1]


def shipped_gallery() -> Path | None:
    """The gallery that comes with kernelwright: in the installed package, or at the root of a checkout."""
    root = PACKAGE.parents[1]
    places = [PACKAGE / GALLERY, *([root / GALLERY] if (root / "pyproject.toml").is_file() else [])]
    return next((place for place in places if place.is_dir()), None)


def galleries(home: Path) -> list[Path]:
    """The existing folders without duplicates: those in `home`, then the one that comes with kernelwright."""
    shipped = shipped_gallery()
    own = [home / name for name in (WRITTEN, GALLERY) if (home / name).is_dir()]
    return [*own, *([shipped] if shipped and shipped.resolve() not in [one.resolve() for one in own] else [])]


def gallery_problems(home: Path) -> dict[str, Path]:
    """The problem files of all galleries by name, sorted; problems in `home` take precedence. A name that `paths` would
    refuse is left out."""
    found: dict[str, Path] = {}
    for folder in reversed(galleries(home)):
        found |= {file.parent.name: file for file in folder.glob(f"*/{PROBLEM_FILE}") if is_fit(file.parent.name)}
    return dict(sorted(found.items()))
