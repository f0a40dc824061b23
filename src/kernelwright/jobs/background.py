"""Jobs that run one after the other in a thread, while their owner answers questions."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Job = Callable[[], None]


class Background:
    """Thread-safe. An error ends its job and those that wait, and is raised once, by `raise_fault`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[tuple[str, Job]] = deque()
        self._doing: str | None = None
        self._fault: Exception | None = None

    @property
    def doing(self) -> str | None:
        """The running job, in words; None where there is none."""
        return self._doing

    def start(self, what: str, job: Job) -> None:
        """Run `job` once the jobs before it are done."""
        with self._changed:
            self._waiting.append((what, job))
            if self._doing is None:
                self._doing = what
                threading.Thread(target=self._work, name="kernelwright-agent", daemon=True).start()

    def is_idle(self, within_s: float) -> bool:
        """Whether no job is running, or none is left after this time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._doing is None, within_s)

    def raise_fault(self) -> None:
        """Raise the error that ended a job, once."""
        with self._changed:
            fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._doing = None
                    self._changed.notify_all()
                    return
                self._doing, job = self._waiting.popleft()
            try:
                job()
            except Exception as error:  # noqa: BLE001 - raised again by `raise_fault`
                with self._changed:
                    self._fault = error
                    self._waiting.clear()
