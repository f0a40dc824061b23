"""What is written of a run during and after a session, from the state that its loop keeps.

It writes the rounds of the trace as they end, and saves the best kernel elsewhere if the run's folder was removed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.jobs.worker import Notify
from kernelwright.journal import Event, Journal, RunState
from kernelwright.model import Trial
from kernelwright.report.files import write_answer
from kernelwright.report.kernel import kernel_text
from kernelwright.report.trace import TraceRounds
from kernelwright.report.view import RunView, view_of
from kernelwright.run import StopReason
from kernelwright.search.convergence import best_trial


class SessionLog:
    """Make it before the session begins, which keeps `state` up to date."""

    def __init__(self, journal: Journal, state: RunState, notify: Notify) -> None:
        self._notify = notify
        self.trace = TraceRounds(journal.folder)
        self._journal, self._state = journal, state
        self._earlier = state.seq
        self._round = max(state.rounds, default=0)
        """The round that is written next."""
        self._best = best_trial([one for one in state.done.values() if one.request.round < self._round])
        """The best trial of the rounds before."""

    @property
    def has_begun(self) -> bool:
        """Whether the session wrote anything."""
        return self._state.seq > self._earlier

    def before(self, on_event: Callable[[Event], None]) -> Callable[[Event], None]:
        """A function to call with each event: it calls `on_event` and writes the rounds that have ended."""

        def take(event: Event) -> None:
            on_event(event)
            rounds = self._state.rounds
            while self._round < next(reversed(rounds), 0):
                here = rounds.get(self._round, ())
                if not all(number in self._state.told for number in here):
                    break
                self._write_round(here)

        return take

    def _write_round(self, numbers: Sequence[int]) -> None:
        """From the trials of the round and those that its files name alone: the run may be long."""
        done = self._state.done
        here = [done[number] for number in numbers]
        parents = [done[number] for trial in here for number in trial.request.parents if number in done]
        known = [one for one in (self._state.seed, self._best) if one is not None and one.request.round <= self._round]
        named = {trial.number: trial for trial in (*known, *parents, *here)}
        self._best = best_trial([*known, *here])
        self.trace.write(self.view([named[number] for number in sorted(named)]), self._round)
        self._round += 1

    def view(self, trials: Iterable[Trial] | None = None) -> RunView:
        """trials: as for `view_of`."""
        return view_of(self._journal.folder, self._journal.info, self._state, self._journal.blob, trials)

    def write_answer(self) -> None:
        """Write the best kernel and the report of a session that a signal is ending, as if its end were recorded
        already.
        """
        view = self.view()
        last = [replace(session, reason=StopReason.INTERRUPTED.value) for session in view.sessions[-1:]]
        write_answer(replace(view, sessions=(*view.sessions[:-1], *last)))

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
