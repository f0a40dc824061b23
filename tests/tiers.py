"""Which tests need nothing but this process (`pure`), and which start processes or import torch (`process`).

By file, from what it imports: a test file is `process` where it, or a file of tests/ that it imports, imports one of
STARTS, or where an import of it leads to one of HEAVY. While a pure test runs, starting a process is an error
(`conftest.py`), so a file that starts one by other means says `pytest.mark.process`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

from imports import TESTS, file_of, imported, needed

HEAVY = frozenset({"torch", "triton", "numpy", "matplotlib"})
STARTS = HEAVY | {
    "subprocess", "multiprocessing", "playwright", "mcp", "browser", "evaluated", "on_site",
    "kernelwright.evaluator.client.start_worker", "kernelwright.evaluator.client.ProcessWorker",
    "kernelwright.worker.processes.processes.Processes", "kernelwright.worker.processes.children.ForkServer",
}  # fmt: skip
FONTS = "fc-list"
"""matplotlib starts this program when it looks for fonts, once on each machine."""
EXPLICIT = "pytest.mark.process"
FOLDERS = ("gpu", "exploits", "honest", "wrong")
"""Folders whose tests all need a worker."""


@cache
def tier(file: Path) -> str:
    """The marker of the tests of a file: "pure" or "process"."""
    inside = file.relative_to(TESTS).parts
    if inside[0] in FOLDERS or EXPLICIT in file.read_text(encoding="utf-8"):
        return "process"
    return "process" if _starts(file) else "pure"


@cache
def _starts(file: Path) -> bool:
    """Whether a file of tests/ imports what starts processes, itself or through another one, in functions too."""
    for name in imported(file, nested=True):
        found = file_of(name)
        if name in STARTS or name.partition(".")[0] in STARTS:
            return True
        if found is not None and (_starts(found) if found.is_relative_to(TESTS) else _is_heavy(found)):
            return True
    return False


@cache
def _is_heavy(file: Path) -> bool:
    """Whether importing a file of the package imports one of HEAVY."""
    return any(
        name.partition(".")[0] in HEAVY for one in needed(file, nested=False) for name in imported(one, nested=False)
    )


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Inside, starting a process is an error that names `what`."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError(f"{what} starts a process: it is no pure test, see tests/tiers.py")

    # No import: it would make every file that imports this one `process`.
    start = sys.modules["subprocess"].Popen.__init__

    def refuse_unless_fonts(process: Any, command: Any, *rest: Any, **named: Any) -> None:
        if not isinstance(command, list) or command[0] != FONTS:
            refuse()
        start(process, command, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subprocess.Popen.__init__", refuse_unless_fonts)
        for name in ("os.fork", "os.posix_spawn", "os.posix_spawnp", "os.system"):
            patch.setattr(name, refuse)
        yield
