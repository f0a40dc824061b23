"""Truncation of the children's logs while they are written: a problem may print 300 MB each time it is imported.

Imports no torch. Only the end of a log is useful, so a log over LONGEST_BYTES is cut to its last KEPT_BYTES.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

LONGEST_BYTES = 8 << 20
KEPT_BYTES = 1 << 16
LOOK_S = 0.2
"""Interval between two checks. A process that prints as fast as it can writes a few hundred megabytes in this time."""


def keep_short(folder: Path) -> None:
    """Start a thread that shortens the logs in `folder` and its subfolders. Their writers have to append (O_APPEND)."""
    threading.Thread(target=_watch, args=(folder,), daemon=True).start()


def _watch(folder: Path) -> None:
    while not _pause.wait(LOOK_S):
        look(folder)


def look(folder: Path) -> None:
    """Shorten every log in `folder` and its subfolders. Logs that are removed meanwhile are skipped."""
    with contextlib.suppress(OSError):  # a glob fails in a folder that was just removed
        for log in [*folder.glob("*.log"), *folder.glob("*/*.log")]:
            shorten(log)


_pause = threading.Event()


def shorten(log: Path) -> None:
    """Cut a long log to its end. Text that is written meanwhile may be lost."""
    with contextlib.suppress(OSError):  # it was removed
        if log.is_symlink() or log.stat().st_size <= LONGEST_BYTES:
            return
        with log.open("rb") as file:
            file.seek(-KEPT_BYTES, os.SEEK_END)
            end = file.read(KEPT_BYTES)
        os.truncate(log, 0)
        with log.open("ab") as file:
            file.write(b"[...]\n" + end)
