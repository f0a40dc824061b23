"""How a process ended, in words."""

from __future__ import annotations

import signal


def how_ended(status: int) -> str:
    """A predicate, such as "was killed by SIGSEGV". status: as in `subprocess`, negative for a signal."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal has no name
        return f"was killed by signal {-status}"
