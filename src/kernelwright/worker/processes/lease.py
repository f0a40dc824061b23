"""The lease of one GPU: it covers what must not be disturbed, timing above all.

One thread of one process has it at a time, in all programs together: two runs on one GPU take turns and measure what
each would measure alone. Work that needs no GPU, compiling above all, is done without it.
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
"""Longer than another run keeps the GPU between two short candidates, shorter than people wonder what goes on."""

WAITS = "another program uses the GPU (it holds %s); this run goes on as soon as it is free"


class Lease:
    """May be taken again by the thread that holds it."""

    def __init__(
        self,
        gpu: str | None,
        folder: Path | None = None,
        said_after_s: float = SAID_AFTER_S,
        begins: Callable[[], object] = lambda: None,
    ) -> None:
        """gpu: what tells it from others of this machine; None where there is none, and only threads take turns.
        said_after_s: how long another program may keep it before the wait is said. begins: called whenever a thread
        takes it that did not have it."""
        self._said_after_s = said_after_s
        self._begins = begins
        self._threads = threading.RLock()
        self._depth = 0
        self._file: int | None = None
        if gpu is not None:
            self._path = (folder or Path(tempfile.gettempdir())) / f"kernelwright-{gpu}.lock"
            self._file = opened(self._path)

    def acquire(self) -> None:
        self._threads.acquire()
        self._depth += 1
        if self._depth > 1:
            return
        try:
            if self._file is not None:
                self._wait(self._file)
        except BaseException:  # an interrupt, too: a wait that was broken off leaves nothing locked
            self._depth -= 1
            self._threads.release()
            raise
        try:
            self._begins()
        except BaseException:  # an interrupt, too: no other thread could take it
            self.release()
            raise

    @property
    def is_nested(self) -> bool:
        """Whether the thread that has it took it more than once."""
        return self._depth > 1

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._threads.release()

    def _wait(self, file: int) -> None:
        """However long it takes: another run's candidate ends, or is ended, within its own limits."""
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        said = threading.Timer(self._said_after_s, log.warning, (WAITS, self._path))
        said.daemon = True
        said.start()
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        finally:
            said.cancel()

    def __enter__(self) -> Lease:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def opened(path: Path) -> int | None:
    """The file to lock, which everybody may read, so that users take turns too; None where there can be none, and turns
    are taken within this process only. A link in its place, which anybody could put there, is not followed."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    for more in (os.O_CREAT, 0):  # another user's file may not be opened to be created (fs.protected_regular)
        try:
            return os.open(path, flags | more, 0o644)
        except OSError:
            continue
    return None
