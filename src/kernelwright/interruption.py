"""SIGTERM as Ctrl-C: one way to end early for whatever holds processes, files or a GPU.

Not what is done then: each `with` and `except` says that for itself. The rule: nothing changes outside the block.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stoppable() -> Iterator[None]:
    """While the block runs, SIGTERM interrupts it as Ctrl-C does; outside the main thread, which alone gets signals,
    nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
