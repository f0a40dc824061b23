"""The table of importers. A new importer is a file with the functions `claims` and `read`, and a line here.

The first importer that claims a path reads it, so special formats come before general ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kernelwright.errors import RequestError
from kernelwright.importers import history, kernelagent, openevolve, python_file
from kernelwright.importers.seed import Found
from kernelwright.model import Candidate


class Importer(NamedTuple):
    """One importer. claims: whether a path has this format. read: returns the seeds of a path; its second argument is
    the problem's starter, or None."""

    summary: str
    claims: Callable[[Path], bool]
    read: Callable[[Path, Candidate | None], Found]


IMPORTERS = {
    "kernelagent": Importer("KernelAgent's artifact folders", kernelagent.claims, kernelagent.read),
    "openevolve": Importer("OpenEvolve's checkpoints", openevolve.claims, openevolve.read),
    "history": Importer("a config tuner's history.csv", history.claims, history.read),
    "python": Importer("any file with a candidate's entry", python_file.claims, python_file.read),
}


def read_seeds(path: Path, starter: Candidate | None, kind: str | None = None) -> tuple[str, Found]:
    """The name of the importer that read `path`, and its result. kind: an importer's name; None: the first that claims
    the path. Raises `RequestError` if there is no seed."""
    if not path.exists():
        raise RequestError(f"nothing to import at {path}", "give a file or a folder")
    if kind is not None and kind not in IMPORTERS:
        raise RequestError(f"there is no importer {kind!r}", f"choose one of {', '.join(IMPORTERS)}")
    taker = kind or next((name for name, one in IMPORTERS.items() if one.claims(path)), None)
    known = "; ".join(one.summary for one in IMPORTERS.values())
    if taker is None:
        raise RequestError(f"{path} is nothing that can be imported", f"known: {known}")
    found = IMPORTERS[taker].read(path, starter)
    if not found.seeds:
        why = "; ".join(f"{name}: {reason}" for name, reason in list(found.useless.items())[:3])
        raise RequestError(f"{path} holds no kernel to try{': ' + why if why else ''}", f"known: {known}")
    return taker, found
