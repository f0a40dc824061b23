"""The clock of a session: its time, the time of the whole run, and the rest of the time limit."""

from __future__ import annotations

import time

from kernelwright.model import Budget


class SessionClock:
    def __init__(self, budget: Budget, before_s: float) -> None:
        """before_s: total time of the run's earlier sessions."""
        self._minutes = budget.minutes
        self._before_s = before_s
        self._began_s = time.monotonic()

    @property
    def session_s(self) -> float:
        return time.monotonic() - self._began_s

    @property
    def run_s(self) -> float:
        return self._before_s + self.session_s

    @property
    def left_s(self) -> float | None:
        """Seconds until the time limit; None where there is no limit."""
        return None if self._minutes is None else max(0.0, self._minutes * 60 - self.run_s)

    @property
    def is_up(self) -> bool:
        return self.left_s == 0.0

    def stop(self) -> None:
        """End a session. The time until `start` is not counted."""
        self._before_s += self.session_s

    def start(self) -> None:
        self._began_s = time.monotonic()
