"""The events of a run during a session, kept so that views need not read the journal again.

It writes the rounds of the trace as they end, and saves the best kernel elsewhere if the run's folder was removed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.jobs.worker import Notify
from kernelwright.journal import Event, EventKind, Journal, SessionEnd
from kernelwright.model import Request
from kernelwright.report.files import write_answer
from kernelwright.report.kernel import kernel_text
from kernelwright.report.trace_rounds import TraceRounds
from kernelwright.report.view import RunView, view_of
from kernelwright.run import StopReason


class SessionLog:
    """The events of a session. Make it before the session begins."""

    def __init__(self, journal: Journal, notify: Notify) -> None:
        self._notify = notify
        self.events = journal.history()
        self.trace = TraceRounds(journal.folder)
        self._journal = journal
        self._earlier = len(self.events)
        self._round = max((e.payload.round for e in self.events if isinstance(e.payload, Request)), default=0)

    @property
    def has_begun(self) -> bool:
        """Whether the session wrote anything."""
        return len(self.events) > self._earlier

    def before(self, on_event: Callable[[Event], None]) -> Callable[[Event], None]:
        """A function to call with each event: it stores the event, writes the rounds that have ended, and calls
        `on_event`.
        """

        def take(event: Event) -> None:
            self.events.append(event)
            if isinstance(event.payload, Request) and event.payload.round > self._round:
                self._round = event.payload.round
                self.trace.write(self.view(), before=self._round)
            on_event(event)

        return take

    def view(self, *more: Event) -> RunView:
        return view_of(self._journal.folder, self._journal.info, [*self.events, *more], self._journal.blob)

    def write_answer(self) -> None:
        """Write the best kernel and the report of a session that a signal is ending, as if its end were recorded
        already.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        end = SessionEnd(reason=StopReason.INTERRUPTED.value, seconds=0.0)
        write_answer(self.view(Event(len(self.events) + 1, EventKind.STOPPED, None, now, end)))

    @property
    def is_gone(self) -> bool:
        """Whether the run's folder was removed."""
        try:
            self._journal.refuse_if_gone()
        except RunFolderError:
            return True
        return False

    def rescue(self) -> None:
        """Save the best kernel in the current folder or the one for temporary files, and say where."""
        view = self.view()
        kernel = view.best or view.leader
        if kernel is None:
            self._notify("no kernel had passed")
            return
        text = kernel_text(kernel, view)
        for home in (Path.cwd(), Path(tempfile.gettempdir())):
            for number in range(100):
                file = home / f"{view.folder.resolve().name}-best_kernel{f'-{number}' if number else ''}.py"
                try:
                    with file.open("x", encoding="utf-8", errors="backslashreplace") as opened:
                        opened.write(text)
                except FileExistsError:
                    continue
                except OSError:
                    break
                self._notify(f"the best kernel so far was saved as {file}")
                return
        self._notify(f"the best kernel so far could not be saved as a file; it is:\n{text}")
