"""The scratch folder of a supervisor (temporary files), and the removal of folders that killed supervisors left behind.
The logs in it are shortened while children write them: a problem may print 300 MB each time it is imported.

Imports no torch. A supervisor locks a file in its folder (flock) until it ends. A folder is removed only if its name
has our prefix, it is a real folder of the same user, and its lock is free.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import threading
import time
from pathlib import Path

LONGEST_BYTES = 8 << 20
KEPT_BYTES = 1 << 16
LOOK_S = 0.2
"""Interval between two checks. A process that prints as fast as it can writes a few hundred megabytes in this time."""

PREFIX = "kernelwright-"
LOCK = "owner.lock"
TRIES, TRY_S = 20, 0.02
"""Attempts to remove a folder and the pause between them: a process that was just killed may still write there."""


def make_scratch() -> Path:
    """Create a folder that is locked until this process ends. Folders of dead supervisors are removed first."""
    home = Path(tempfile.gettempdir())
    for path in home.glob(f"{PREFIX}*"):
        remove_stale(path)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    # The file is locked before it gets the name that `remove_stale` looks for. The descriptor stays open on purpose.
    descriptor = os.open(folder / "new.lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    (folder / "new.lock").rename(folder / LOCK)
    return folder


def remove_stale(folder: Path) -> bool:
    """Remove `folder` if it belongs to a dead supervisor of this user. Returns whether it was removed completely."""
    with contextlib.suppress(OSError):
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return False
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return remove(folder)
        finally:
            os.close(descriptor)
    return False


def remove(folder: Path) -> bool:
    """Remove the files of a folder, its lock last, so that a later supervisor can remove the rest. Returns whether
    nothing is left."""
    for _ in range(TRIES):
        with contextlib.suppress(OSError):  # others remove their files meanwhile, or write new ones
            for path in folder.iterdir():
                if path.name != LOCK:
                    _remove_one(path)
            if all(path.name == LOCK for path in folder.iterdir()):
                (folder / LOCK).unlink(missing_ok=True)
                folder.rmdir()
                return True
        time.sleep(TRY_S)
    return False


def _remove_one(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


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
