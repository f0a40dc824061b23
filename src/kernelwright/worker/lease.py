"""The lease of one GPU: it covers what must not be disturbed, timing above all.

One thread of one process has it at a time, whoever started that process: two runs on one GPU take turns and measure
what each would measure alone. It protects no data. The rule: what needs no GPU, compiling above all, is done without.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
from pathlib import Path
from types import TracebackType


class Lease:
    """May be taken again by the thread that holds it."""

    def __init__(self, gpu: str | None, folder: Path | None = None) -> None:
        """gpu: what tells it from others of this machine; None where there is none, and only threads take turns."""
        self._threads = threading.RLock()
        self._depth = 0
        self._file: int | None = None
        if gpu is not None:
            self._file = opened((folder or Path(tempfile.gettempdir())) / f"kernelwright-{gpu}.lock")

    def acquire(self) -> None:
        self._threads.acquire()
        self._depth += 1
        if self._depth == 1 and self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._threads.release()

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
