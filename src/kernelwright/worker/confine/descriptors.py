"""Closing what a fork inherits. Asks which descriptors are open: closing every possible one takes milliseconds."""

from __future__ import annotations

import contextlib
import os


def close_all_but(kept: set[int]) -> None:
    """Close every open file descriptor but these; without /proc, every one that there could be."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        numbers = list(range(os.sysconf("SC_OPEN_MAX")))
    for number in numbers:
        if number not in kept:
            with contextlib.suppress(OSError):  # not open, as the one that listed the folder
                os.close(number)
