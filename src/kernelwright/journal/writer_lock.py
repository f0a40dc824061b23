"""The writer lock of a run's folder: at most one process writes a journal, and others can tell which.

The operating system releases the lock when the writer dies, so there is never a second writer and never a stale lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.folders import open_locked

NAME = "journal.lock"
"""A separate file: closing any descriptor of the database would drop all of SQLite's (POSIX) locks on it. It holds the
writer's process id and its place."""

LOOKS_S = 0.2
"""How long a lock may be held by others who only look: they hold it for less than a millisecond."""

WORDS = 200
"""Most bytes that are read of the lock file."""


def lock(folder: Path) -> int:
    """Take the folder's writer lock; closing the returned descriptor releases it. Raises `RunFolderError` where another
    process has it."""
    descriptor = open_locked(folder, NAME)
    end_s = time.monotonic() + LOOKS_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() < end_s:
                time.sleep(0.01)
                continue
            process, _ = _read(descriptor)
            os.close(descriptor)
            raise RunFolderError(
                f"{folder} is being written by another kernelwright (process {process})",
                "wait until it ends, or stop it",
            ) from error
        except OSError as error:
            os.close(descriptor)
            raise RunFolderError(f"{folder / NAME} cannot be locked: {error.strerror}") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()} {place()}".encode(), 0)
    return descriptor


def writer(folder: Path) -> int | None:
    """Id of the process that has the writer lock of `folder`; None if no process has it."""
    found = _holder(folder)
    return None if found is None else found[0]


def is_elsewhere(folder: Path) -> bool:
    """Whether the writer runs on another host or in another container, where its id names another process than here."""
    found = _holder(folder)
    return found is not None and found[1] not in ("", place())


def place() -> str:
    """Names the space of process ids that this process has its own from: boots of hosts, and containers, differ."""
    boot, names = "", ""
    with contextlib.suppress(OSError):  # no Linux
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        names = os.readlink("/proc/self/ns/pid")
    return f"{boot}/{names}"


def _holder(folder: Path) -> tuple[int | None, str] | None:
    """Id and place of the process that has the lock; None if no process has it."""
    path = folder / NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(descriptor)
    finally:
        os.close(descriptor)
    return None


def _read(descriptor: int) -> tuple[int | None, str]:
    process, _, where = os.pread(descriptor, WORDS, 0).decode("ascii", "replace").partition(" ")
    return (int(process) if process.isdigit() else None), where
