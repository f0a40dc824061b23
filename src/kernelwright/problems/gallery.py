"""Galleries: folders of problems that can be named without a path: the one of kernelwright, and `./gallery`."""

from __future__ import annotations

from pathlib import Path

PROBLEM_FILE = "problem.py"
GALLERY = "gallery"
PACKAGE = Path(__file__).parents[1]


def shipped_gallery() -> Path | None:
    """The gallery that comes with kernelwright: in the installed package, or at the root of a checkout."""
    root = PACKAGE.parents[1]
    places = [PACKAGE / GALLERY, *([root / GALLERY] if (root / "pyproject.toml").is_file() else [])]
    return next((place for place in places if place.is_dir()), None)


def galleries(home: Path) -> list[Path]:
    """The existing galleries without duplicates: the one in `home`, then the one that comes with kernelwright."""
    shipped = shipped_gallery()
    own = [home / GALLERY] if (home / GALLERY).is_dir() else []
    return [*own, *([shipped] if shipped and not (own and own[0].resolve() == shipped.resolve()) else [])]


def gallery_problems(home: Path) -> dict[str, Path]:
    """The problem files of all galleries by name, sorted; problems in `home` take precedence."""
    found: dict[str, Path] = {}
    for folder in reversed(galleries(home)):
        found |= {file.parent.name: file for file in folder.glob(f"*/{PROBLEM_FILE}")}
    return dict(sorted(found.items()))
