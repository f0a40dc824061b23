"""Finds the files of the problems that a user named.

A problem is a file `NAME.py` (with its cases in it, or in the sidecar `NAME.cases.json`), or a folder `NAME/` with
`problem.py` and optionally `starter.py`, `best.py`, `sources/`, `example.pt` and `module.pt`. A folder with a
`problem.py` takes precedence over a name in a gallery. Only the places that the error lists are tried.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import ProblemError
from kernelwright.options import did_you_mean
from kernelwright.problems.sets import FORMATS, problem_file
from kernelwright.text.escape import encodable, in_code, is_fit

PROBLEM_FILE = "problem.py"
GALLERY = "gallery"
WRITTEN = "problems"
"""Where problems of live modules are written, unless another folder is named."""
PACKAGE = Path(__file__).parents[1]

STARTER_FILE = "starter.py"
BEST_FILE = "best.py"
SOURCES_FOLDER = "sources"
"""Folder of modules that problem.py imports."""
EXAMPLE_FILE = "example.pt"
"""File of tensor values that problem.py reads."""
MODULE_FILE = "module.pt"
"""File of the live module that problem.py reads."""
MODEL = re.compile(rb"^class Model\b", re.MULTILINE)
"""Pattern that identifies a problem's file among Python files, even if its syntax is broken."""


@dataclass(frozen=True)
class ProblemPath:
    """Paths of a problem's files. All are absolute; None for a missing file."""

    name: str
    file: Path
    starter: Path | None = None
    best: Path | None = None
    """The best known kernel, for comparison; a search neither starts from it nor shows it to a model."""
    sidecar: Path | None = None
    beside: tuple[Path, ...] = ()
    """Other files that problem.py needs: those of `sources/`, `example.pt` and `module.pt`."""

    @property
    def is_folder(self) -> bool:
        """Whether the problem owns its folder (`NAME/problem.py`)."""
        return self.file.name == PROBLEM_FILE


def problem_at(file: Path) -> ProblemPath:
    """The problem with the existing file `file`. Raises `ProblemError` for a name that is not fit for code."""
    file = file.resolve()
    name = file.parent.name if file.name == PROBLEM_FILE else file.stem
    if not is_fit(name) or encodable(str(file)) != str(file):
        raise ProblemError(
            f"a problem cannot be {in_code(str(file))}",
            "rename it: its name has no quotes, backslashes and control characters, its path is text in UTF-8",
        )
    sidecar = file.with_suffix(".cases.json")
    owns_folder = file.name == PROBLEM_FILE

    def beside(name: str) -> Path | None:
        found = file.with_name(name)
        return found if owns_folder and found.is_file() else None

    return ProblemPath(
        name=name,
        file=file,
        starter=beside(STARTER_FILE),
        best=beside(BEST_FILE),
        sidecar=sidecar if sidecar.is_file() else None,
        beside=_beside(file.parent) if owns_folder else (),
    )


def _beside(folder: Path) -> tuple[Path, ...]:
    sources = sorted((folder / SOURCES_FOLDER).glob("**/*.py"))
    return (*sources, *(one for one in (folder / EXAMPLE_FILE, folder / MODULE_FILE) if one.is_file()))


def find_problem(argument: str) -> ProblemPath:
    """The problem that `argument` names: a file, a folder with `problem.py`, a name in a gallery (`./problems`,
    `./gallery`, then the one that comes with kernelwright), or a file or folder of a problem set (`sets.FORMATS`).

    Raises `ProblemError` listing what was tried.
    """
    given = Path(argument).expanduser()
    if argument and (given / PROBLEM_FILE).is_file():
        return problem_at(given / PROBLEM_FILE)
    known = gallery_problems(Path.cwd())
    if argument in known:
        return problem_at(known[argument])
    if argument and given.exists() and (translated := problem_file(given)) is not None:
        return problem_at(translated)
    if given.is_file():
        return problem_at(given)
    tried = [given, given / PROBLEM_FILE, Path(GALLERY) / argument / PROBLEM_FILE]
    raise ProblemError(
        f"no problem at {argument!r}: tried {', '.join(str(path) for path in tried)} and the gallery of kernelwright",
        f"{did_you_mean(argument, known)} give a .py file, a folder holding {PROBLEM_FILE}, or a problem of "
        f"{', '.join(FORMATS)}, or one of the gallery: {', '.join(known)}".lstrip(),
    )


def problems_in(argument: str) -> list[ProblemPath]:
    """The problems in the subfolders of a folder, by name; empty if the folder is itself a problem."""
    folder = Path(argument).expanduser()
    if (folder / PROBLEM_FILE).is_file():
        return []
    return [problem_at(file) for file in sorted(folder.glob(f"*/{PROBLEM_FILE}"))]


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
    files = [file for file in folder.glob("*.py") if file.is_file() and MODEL.search(file.read_bytes())]
    return [*inside, *map(str, sorted(files, key=by_number))] or [argument]


def by_number(file: Path) -> tuple[int, str]:
    """Sort key by the leading number: 10_softmax.py comes after 2_matmul.py."""
    found = re.match(r"\d+", file.name)
    return int(found[0]) if found else -1, file.name


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
