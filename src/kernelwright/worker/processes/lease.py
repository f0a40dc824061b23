"""The lease of one GPU: a lock (thread lock and file lock) for work that must not be disturbed, above all timing.

One thread of one process has the lease at a time, over all programs of this machine: two runs on one GPU take turns, so
that neither disturbs the timings of the other. Work without the GPU, such as compiling, needs no lease.

The next in line holds a second file lock while it waits, and everyone takes that one first. So a search that releases
the lease and wants it again at once comes after it; with one file lock alone it would be first each time.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

log = logging.getLogger(__name__)

SAID_AFTER_S = 5.0
"""Time to wait before the message WAITS: longer than another run needs for a short candidate, and short enough that
users are not left to wonder."""

WAITS = "another program uses the GPU (lock file %s); this run continues as soon as it is free"


class Lease:
    """A reentrant lock of one GPU, across threads and processes."""

    def __init__(
        self,
        gpu: str | None,
        folder: Path | None = None,
        said_after_s: float = SAID_AFTER_S,
        begins: Callable[[], object] = lambda: None,
    ) -> None:
        """gpu: its UUID, part of the name of the lock file; None without a GPU, and then only threads of this process
        take turns. folder: of the lock file, by default the temporary folder. said_after_s: time after which a wait for
        another program is logged. begins: called when a thread acquires the lease, except when it has it already."""
        self._said_after_s = said_after_s
        self._begins = begins
        self._threads = threading.RLock()
        self._depth = 0
        self._file: int | None = None
        self._line: int | None = None
        if gpu is not None:
            self._path = (folder or Path(tempfile.gettempdir())) / f"kernelwright-{gpu}.lock"
            self._file, self._line = opened(self._path), opened(self._path.with_suffix(".next"))

    def acquire(self) -> None:
        self._threads.acquire()
        self._depth += 1
        if self._depth > 1:
            return
        try:
            if self._file is not None:
                self._wait(self._file)
        except BaseException:  # KeyboardInterrupt too: an interrupted wait must leave nothing locked
            self._depth -= 1
            self._threads.release()
            raise
        try:
            self._begins()
        except BaseException:  # KeyboardInterrupt too: otherwise no other thread could take the lease
            self.release()
            raise

    @property
    def is_nested(self) -> bool:
        """Whether the owning thread acquired the lease more than once."""
        return self._depth > 1

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._threads.release()

    def _wait(self, file: int) -> None:
        """Wait for the file lock without a time limit: candidates of the other run have time limits themselves."""
        with contextlib.suppress(BlockingIOError):
            self._lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        said = threading.Timer(self._said_after_s, log.warning, (WAITS, self._path))
        said.daemon = True
        said.start()
        try:
            self._lock(file, fcntl.LOCK_EX)
        finally:
            said.cancel()

    def _lock(self, file: int, how: int) -> None:
        """Lock the file as the next in line. Raises BlockingIOError in place of a wait where `how` has LOCK_NB."""
        if self._line is None:
            fcntl.flock(file, how)
            return
        fcntl.flock(self._line, how)
        try:
            fcntl.flock(file, how)
        finally:
            fcntl.flock(self._line, fcntl.LOCK_UN)

    def __enter__(self) -> Lease:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def opened(path: Path) -> int | None:
    """Descriptor of the lock file. All users may read it, so that runs of several users take turns too. None if it
    cannot be opened; then only threads of this process take turns. A symbolic link, which any user could put there, is
    not followed."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    for more in (os.O_CREAT, 0):  # O_CREAT fails on another user's file (fs.protected_regular)
        try:
            return os.open(path, flags | more, 0o644)
        except OSError:
            continue
    return None
