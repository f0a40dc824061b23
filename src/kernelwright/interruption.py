"""Signals that end a program: two ways to end early for whatever holds processes, files or a GPU.

Ctrl-C and SIGUSR1 (`kernelwright stop`) interrupt it, and it may take its time for what was paid for. SIGTERM and
SIGHUP (a shutdown, a closed terminal) come before a SIGKILL: the program is gone within `GRACE_S`, whatever hangs.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP = signal.SIGUSR1
"""As Ctrl-C. Not SIGINT, which a shell's background jobs ignore."""

GRACE_S = 2.0
"""From the signal to the end of the process. What sends SIGTERM sends SIGKILL some seconds later."""

LAST_S = 0.15
"""Of these, kept for leaving: at this time before the end the process is ended from within."""


class Ended(KeyboardInterrupt):
    """A signal that leaves only `GRACE_S`. end_s: when the process is ended, by the monotonic clock."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.end_s = time.monotonic() + GRACE_S - LAST_S

    @property
    def status(self) -> int:
        """The exit status, as a shell gives it for a process that a signal ended."""
        return 128 + self.number

    @property
    def left_s(self) -> float:
        return max(self.end_s - time.monotonic(), 0.0)


@contextmanager
def stoppable() -> Iterator[None]:
    """While the block runs, these signals interrupt it.

    The first that leaves only `GRACE_S` is the last that counts, and sees to it that the process has ended by then. A
    signal that is ignored (nohup) stays so. Outside the main thread, which alone gets signals, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ended: list[threading.Timer] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def end(number: int, frame: FrameType | None) -> None:
        if ended:
            return
        found = Ended(number)
        ended.append(threading.Timer(found.left_s, os._exit, (found.status,)))
        ended[0].daemon = True
        ended[0].start()
        raise found

    actions = {STOP: interrupt, signal.SIGTERM: end, signal.SIGHUP: end}
    before = {
        number: signal.signal(number, action)
        for number, action in actions.items()
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
        for timer in ended:
            timer.cancel()
