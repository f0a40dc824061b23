"""A journal open for reading or writing: append events, read them back, keep blobs by hash.

It knows no strategy and no budget. The one rule: an append returns only after its commit, so act on it then.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from kernelwright import codec
from kernelwright.errors import KernelwrightError, RunFolderError
from kernelwright.journal import database
from kernelwright.journal.events import (
    Abandoned,
    Event,
    EventKind,
    Profiles,
    Session,
    SessionEnd,
    SessionStart,
    confirmations_of,
    finished_trials,
    sessions_of,
)
from kernelwright.model import Answered, Budget, Evaluation, Proposal, Request, RunInfo, Trial, Usage

Payload = Request | Proposal | Evaluation | Profiles | Answered | Abandoned | SessionStart | SessionEnd | None

_PAYLOADS: dict[EventKind, Any] = {
    EventKind.STARTED: SessionStart,
    EventKind.ASKED: Request,
    EventKind.PROPOSED: Proposal,
    EventKind.EVALUATED: Evaluation,
    EventKind.TOLD: None,
    EventKind.CONFIRMED: Evaluation,
    EventKind.PROFILED: Profiles,
    EventKind.ANSWERED: Answered,
    EventKind.ABANDONED: Abandoned,
    EventKind.STOPPED: SessionEnd,
}


class Journal:
    """Thread-safe. Every method raises `RunFolderError` where the database cannot be read or written."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, info: RunInfo, lock: int | None) -> None:
        """Use `create` or `open`."""
        self.folder = folder
        self.info = info
        self._path = folder / database.NAME
        self._connection: sqlite3.Connection | None = connection
        self._lock_fd = lock
        self._one_at_a_time = threading.RLock()

    @classmethod
    def create(cls, folder: Path, info: RunInfo) -> Journal:
        """A new journal in `folder` (made if need be), opened for writing."""
        if info.schema_version != database.SCHEMA_VERSION:
            raise ValueError(f"schema_version {info.schema_version}; this journal writes {database.SCHEMA_VERSION}")
        path = folder / database.NAME
        if path.exists():
            raise RunFolderError(f"{folder} already holds a run", "resume it, or name another folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(f"run folder {folder} cannot be made: {error.strerror}") from error
        lock = database.lock(folder)
        try:
            connection = database.create(path, info)
        except RunFolderError:
            os.close(lock)
            raise
        return cls(folder, connection, info, lock)

    @classmethod
    def open(cls, folder: Path, writable: bool = False) -> Journal:
        """The journal in `folder`. Any number of readers, and one writer beside them."""
        path = folder / database.NAME
        if not path.is_file():
            what = f"holds no {database.NAME}" if folder.is_dir() else "does not exist"
            raise RunFolderError(f"run folder {folder} {what}", "name the folder of a run that was started")
        lock = database.lock(folder) if writable else None
        try:
            connection, info = database.open_checked(path, writable)
        except RunFolderError:
            if lock is not None:
                os.close(lock)
            raise
        return cls(folder, connection, info, lock)

    # --- writing --------------------------------------------------------------------------------------------

    def append_started(self, budget: Budget) -> Event:
        return self._append(EventKind.STARTED, None, SessionStart(budget=budget))

    def append_asked(self, request: Request) -> Event:
        return self._append(EventKind.ASKED, request.number, request)

    def append_proposed(self, number: int, proposal: Proposal) -> Event:
        return self._append(EventKind.PROPOSED, number, proposal)

    def append_answered(self, answered: Answered) -> Event:
        return self._append(EventKind.ANSWERED, None, answered)

    def append_abandoned(self, request: int, usage: Usage) -> Event:
        return self._append(EventKind.ABANDONED, None, Abandoned(request=request, usage=usage))

    def append_evaluated(self, number: int, evaluation: Evaluation) -> Event:
        return self._append(EventKind.EVALUATED, number, evaluation)

    def append_told(self, number: int) -> Event:
        return self._append(EventKind.TOLD, number, None)

    def append_confirmed(self, number: int, evaluation: Evaluation) -> Event:
        return self._append(EventKind.CONFIRMED, number, evaluation)

    def append_profiled(self, number: int, profiles: Profiles) -> Event:
        return self._append(EventKind.PROFILED, number, profiles)

    def append_stopped(self, reason: str, seconds: float) -> Event:
        return self._append(EventKind.STOPPED, None, SessionEnd(reason=reason, seconds=seconds))

    def put_blob(self, text: str) -> str:
        """The hash under which `blob` gives the text back. The same text is kept once."""
        sha = codec.sha(text)
        self._execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (sha, text.encode()))
        return sha

    def _append(self, kind: EventKind, number: int | None, payload: Payload) -> Event:
        time = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        row = (kind.value, number, time, codec.encode(payload).decode())
        try:
            cursor = self._execute("INSERT INTO events (kind, number, time, payload) VALUES (?, ?, ?, ?)", row)
        except sqlite3.IntegrityError as error:
            raise KernelwrightError(f"{self._path}: trial {number} was already {kind.value}") from error
        assert cursor.lastrowid is not None
        return Event(seq=cursor.lastrowid, kind=kind, number=number, time=time, payload=payload)

    # --- reading --------------------------------------------------------------------------------------------

    def blob(self, sha: str) -> str:
        rows = self._select("SELECT bytes FROM blobs WHERE sha = ?", (sha,))
        if not rows:
            raise RunFolderError(f"{self._path} holds no blob {sha}")
        return bytes(rows[0][0]).decode()

    def events(self, after: int = 0) -> list[Event]:
        """Every event whose seq is above `after`, in order."""
        rows = self._select("SELECT seq, kind, number, time, payload FROM events WHERE seq > ? ORDER BY seq", (after,))
        return [_event(self._path, row) for row in rows]

    def trials(self) -> list[Trial]:
        """Finished trials (evaluated, or without a candidate to evaluate) by number, whether told or not."""
        return finished_trials(self.events())

    def open_requests(self) -> list[Request]:
        """Requests that wait for a proposal, by number."""
        events = self.events()
        answered = {event.number for event in events if event.kind is EventKind.PROPOSED}
        return [e.payload for e in events if isinstance(e.payload, Request) and e.number not in answered]

    def confirmations(self) -> dict[int, Evaluation]:
        """Confirming evaluations by trial number, in the order in which they were made."""
        return confirmations_of(self.events())

    def sessions(self) -> list[Session]:
        return sessions_of(self.events())

    # --- the database ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Fold the log into `journal.db` and let go of the lock. Closing twice is no error."""
        with self._one_at_a_time:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            try:
                database.close(connection, self._path, written=self._lock_fd is not None)
            finally:
                if self._lock_fd is not None:
                    os.close(self._lock_fd)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except RunFolderError:
            if not isinstance(error, KernelwrightError):  # which says more of the same disk
                raise

    def _execute(self, statement: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        with self._one_at_a_time:
            if self._connection is None or self._lock_fd is None:
                state = "closed" if self._connection is None else "open for reading only"
                raise KernelwrightError(f"{self._path} is {state} and was to be written")
            try:
                return self._connection.execute(statement, values)
            except sqlite3.IntegrityError:
                raise
            except sqlite3.Error as error:
                raise RunFolderError(f"{self._path} cannot be written: {error}") from error

    def _select(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._one_at_a_time:
            if self._connection is None:
                raise KernelwrightError(f"{self._path} is closed and was to be read")
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise RunFolderError(f"{self._path} cannot be read: {error}") from error


def _event(path: Path, row: tuple[Any, ...]) -> Event:
    seq, kind, number, time, payload = row
    try:
        known = EventKind(kind)
        return Event(seq, known, number, time, codec.decode(payload, _PAYLOADS[known]))
    except (ValueError, msgspec.MsgspecError) as error:
        raise RunFolderError(f"event {seq} of {path} ({kind}) cannot be read: {error}") from error
