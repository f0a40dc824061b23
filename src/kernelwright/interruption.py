"""Signal handling: two ways to end a program that owns processes, files or a GPU.

Ctrl-C and SIGUSR1 (`kernelwright stop`) interrupt the program, which may then finish work that was paid for. SIGTERM
and SIGHUP (a shutdown, a closed terminal) precede a SIGKILL: the process exits within `GRACE_S`, even if it hangs.
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
"""Has the effect of Ctrl-C. SIGINT is not used, because background jobs of a shell ignore it."""

GRACE_S = 2.0
"""Time from the signal to the end of the process. The sender of a SIGTERM sends SIGKILL some seconds later."""

LAST_S = 0.15
"""Part of `GRACE_S` that is reserved for the exit: `os._exit` is called this long before the end."""


class Ended(KeyboardInterrupt):
    """Raised for SIGTERM and SIGHUP, which leave only `GRACE_S`. end_s: time of the exit, by the monotonic clock."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.end_s = time.monotonic() + GRACE_S - LAST_S

    @property
    def status(self) -> int:
        """The exit status that a shell reports for a process ended by this signal."""
        return 128 + self.number

    @property
    def left_s(self) -> float:
        return max(self.end_s - time.monotonic(), 0.0)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGUSR1, SIGTERM and SIGHUP interrupt the block.

    The first SIGTERM or SIGHUP raises `Ended` and starts a timer that ends the process; later ones are ignored. A
    signal that is already ignored (nohup) stays ignored. Outside the main thread, which alone receives signals, nothing
    changes.
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
