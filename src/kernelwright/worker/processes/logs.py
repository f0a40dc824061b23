"""The logs of children, kept short while they are written: a problem may print 300 MB each time it is imported.

Imports no torch. Only the end of a log is of use, so a log that has grown too long keeps its end.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

LONGEST_BYTES = 8 << 20
KEPT_BYTES = 1 << 16
LOOK_S = 0.2
"""A process that prints as fast as it can fills some hundred megabytes in this time."""


def keep_short(folder: Path) -> None:
    """From now on, in a thread: every log in `folder` and the folders in it. Logs are opened to append."""
    threading.Thread(target=_watch, args=(folder,), daemon=True).start()


def _watch(folder: Path) -> None:
    while not _pause.wait(LOOK_S):
        look(folder)


def look(folder: Path) -> None:
    """Shorten every log in `folder` and the folders in it. What is removed meanwhile is left out."""
    with contextlib.suppress(OSError):  # a folder that is gone ends a glob
        for log in [*folder.glob("*.log"), *folder.glob("*/*.log")]:
            shorten(log)


_pause = threading.Event()


def shorten(log: Path) -> None:
    """What is printed meanwhile may be lost with the beginning."""
    with contextlib.suppress(OSError):  # it was removed
        if log.is_symlink() or log.stat().st_size <= LONGEST_BYTES:
            return
        with log.open("rb") as file:
            file.seek(-KEPT_BYTES, os.SEEK_END)
            end = file.read(KEPT_BYTES)
        os.truncate(log, 0)
        with log.open("ab") as file:
            file.write(b"[...]\n" + end)
