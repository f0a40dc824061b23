"""Closing of inherited file descriptors. Only the open ones are closed: to try every number takes milliseconds."""

from __future__ import annotations

import contextlib
import os


def close_all_but(kept: set[int]) -> None:
    """Close every open file descriptor except `kept`; without /proc, every possible number is tried."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        numbers = list(range(os.sysconf("SC_OPEN_MAX")))
    for number in numbers:
        if number not in kept:
            with contextlib.suppress(OSError):  # no longer open, such as the one that listed the folder
                os.close(number)
