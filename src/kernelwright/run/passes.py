"""Passes of the loop: the events of one pass are committed together, then shown; actions run only after that. Changes
of lanes wait in a queue for the thread that runs it.

A commit to disk takes longer than a decision of the search, so one commit is shared by all events of a pass.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

from kernelwright.journal import Event, Journal, RunState
from kernelwright.model import LaneChange


class Passes:
    """The passes of a run. Used only by the thread that runs the loop."""

    def __init__(self, journal: Journal, state: RunState, on_event: Callable[[Event], None]) -> None:
        """state: takes each event when it is recorded. on_event: called with the events of a pass after the commit."""
        self._journal, self._state, self._on_event = journal, state, on_event
        self._unseen: list[Event] = []
        self._actions: list[Callable[[], None]] = []
        self._is_open = False

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """One pass: everything recorded inside is committed together."""
        self._is_open = True
        try:
            with self._journal.together():
                yield
        finally:
            self._is_open = False
            events, self._unseen = self._unseen, []
            actions, self._actions = self._actions, []
            for event in events:
                self._on_event(event)
        for act in actions:
            act()

    def record(self, event: Event) -> None:
        """Take an event of the journal into the state; outside of a pass it is shown at once."""
        self._state.take(event)
        if self._is_open:
            self._unseen.append(event)
        else:
            self._on_event(event)

    def act(self, action: Callable[[], None]) -> None:
        """Call `action` after the pass is committed."""
        self._actions.append(action)


class LaneNews:
    """Thread-safe. arrived: a future that is done when changes are queued, so that waiting for futures also ends
    then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[LaneChange] = []
        self.arrived: Future[None] = Future()

    def put(self, change: LaneChange) -> None:
        with self._lock:
            self._found.append(change)
            if not self.arrived.done():
                self.arrived.set_result(None)

    def take(self) -> list[LaneChange]:
        with self._lock:
            found, self._found, self.arrived = self._found, [], Future()
            return found
