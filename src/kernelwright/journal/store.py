"""An open journal: appends events, reads them back, and stores blobs by hash.

An append returns only after its commit. Within `together` all appends share one commit at the end: act on them only
after that. Each event has a digest, and a blob's key is its hash, so that a bit that flipped on the disk is detected.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from kernelwright import codec
from kernelwright.errors import KernelwrightError, RunFolderError
from kernelwright.journal import database, writer_lock
from kernelwright.journal.consistent import History, check, large_numbers
from kernelwright.journal.events import (
    Abandoned,
    Event,
    EventKind,
    JudgedAgain,
    Payload,
    Profiles,
    SessionEnd,
    SessionStart,
)
from kernelwright.journal.fold import Session, fold
from kernelwright.model import Answered, Budget, Evaluation, LaneChange, Proposal, Request, RunInfo, Trial, Usage
from kernelwright.text.escape import in_code, is_fit

PAYLOADS: dict[EventKind, Any] = {
    EventKind.STARTED: SessionStart,
    EventKind.ASKED: Request,
    EventKind.PROPOSED: Proposal,
    EventKind.EVALUATED: Evaluation,
    EventKind.TOLD: None,
    EventKind.CONFIRMED: Evaluation,
    EventKind.PROFILED: Profiles,
    EventKind.ANSWERED: Answered,
    EventKind.ABANDONED: Abandoned,
    EventKind.JUDGED_AGAIN: JudgedAgain,
    EventKind.LANE: LaneChange,
    EventKind.STOPPED: SessionEnd,
}

LONG_NUMBER = re.compile(r"[0-9]{19}|[0-9][eE]\+?[0-9]{2}")
"""Text of a number that may be too large. Few payloads match, and only these are searched for large numbers."""


TAKE_ANOTHER = "take an undamaged copy of the run"


class Journal:
    """A journal. Thread-safe. Every method raises `RunFolderError` if the database cannot be read or written."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, info: RunInfo, lock: int | None) -> None:
        """Use `create` or `open`."""
        self.folder = folder
        self.info = info
        self._path = folder / database.NAME
        found = self._path.stat()
        self._file = (found.st_dev, found.st_ino)
        self._last: int | None = None
        """The seq of the last event; None until it was first read."""
        self._connection: sqlite3.Connection | None = connection
        self._lock_fd = lock
        self._one_at_a_time = threading.RLock()

    @classmethod
    def create(cls, folder: Path, info: RunInfo, prepare: Callable[[], object] = lambda: None) -> Journal:
        """Create a journal in `folder` (created if missing) and open it for writing. prepare: called before the journal
        is created, while no other process can write to the folder."""
        if info.schema_version != database.SCHEMA_VERSION:
            raise ValueError(f"schema_version {info.schema_version}; this journal writes {database.SCHEMA_VERSION}")
        if not is_fit(folder.name):
            hint = "name another folder: no quotes, backslashes and control characters"
            raise RunFolderError(f"a run cannot be called {in_code(folder.name)}", hint)
        path = folder / database.NAME
        if path.exists():
            raise RunFolderError(f"{folder} already holds a run", "resume it, or name another folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"run folder {folder} cannot be made: {error.strerror}",
                "name a new folder in a place of yours with --out",
            ) from error
        lock = writer_lock.lock(folder)
        try:
            if path.exists():
                raise RunFolderError(f"{folder} already holds a run", "resume it, or name another folder")
            prepare()
            connection = database.create(path, info)
        except BaseException:  # also for an interrupt: release the lock
            os.close(lock)
            raise
        return cls(folder, connection, info, lock)

    @classmethod
    def open(cls, folder: Path, writable: bool = False) -> Journal:
        """Open the journal in `folder`. There may be any number of readers and one writer at the same time."""
        path = folder / database.NAME
        if not path.is_file():
            what = f"holds no {database.NAME}" if folder.is_dir() else "does not exist"
            raise RunFolderError(f"run folder {folder} {what}", "name the folder of a run that was started")
        lock = writer_lock.lock(folder) if writable else None
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

    def append_judged_again(self, trial: int, evaluation: Evaluation) -> Event:
        return self._append(EventKind.JUDGED_AGAIN, None, JudgedAgain(trial=trial, evaluation=evaluation))

    def append_lane(self, change: LaneChange) -> Event:
        return self._append(EventKind.LANE, None, change)

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

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Commit all appends of the block together at its end: act on them only after that. Other threads wait. The
        block is also committed after an exception, because each event was true when it was appended."""
        with self._one_at_a_time:
            try:
                self._execute("BEGIN IMMEDIATE", ())
                yield
            finally:
                self._last = None  # SQLite may have taken the appends back, for want of space
                if self._connection is not None and self._connection.in_transaction:
                    self._execute("COMMIT", ())

    def put_blob(self, text: str) -> str:
        """Store a text once; return its hash, the key for `blob`."""
        sha = codec.sha(text)
        self._execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (sha, text.encode()))
        return sha

    def refuse_if_gone(self) -> None:
        """Raise `RunFolderError` if the journal's file was removed or replaced: SQLite would continue to write to the
        removed file."""
        try:
            found = self._path.stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._file:
            raise RunFolderError(f"{self._path} was removed while the run was at work", "the run cannot be resumed")

    def _append(self, kind: EventKind, number: int | None, payload: Payload) -> Event:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._one_at_a_time:
            self.refuse_if_gone()
            seq = self._last_seq() + 1
            row = (seq, kind.value, number, time, codec.encode(payload).decode())
            self._last = None  # an interrupt may come between the commit and the next line that knows of it
            try:
                self._execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", (*row, digest(*row)))
            except sqlite3.IntegrityError as error:
                raise KernelwrightError(f"{self._path}: trial {number} was already {kind.value}") from error
            self._last = seq
        return Event(seq=seq, kind=kind, number=number, time=time, payload=payload)

    def _last_seq(self) -> int:
        if self._last is None:
            ((last,),) = self._select("SELECT coalesce(max(seq), 0) FROM events", ())
            self._last = int(last)
        return self._last

    # --- reading --------------------------------------------------------------------------------------------

    def blob(self, sha: str) -> str:
        rows = self._select(
            "SELECT bytes FROM blobs WHERE sha = ? AND length(bytes) <= ?", (sha, database.LARGEST_BYTES)
        )
        if not rows:
            raise RunFolderError(f"{self._path} holds no blob {sha}")
        content = rows[0][0]
        if not isinstance(content, bytes) or codec.sha(content) != sha:
            raise RunFolderError(f"blob {sha} of {self._path} is damaged: its digest does not match", TAKE_ANOTHER)
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise RunFolderError(f"blob {sha} of {self._path} is no text: {error}") from error

    def events(self, after: int = 0) -> list[Event]:
        """Every event with a seq above `after`, in order. Raises `RunFolderError` if one is missing or damaged."""
        rows = self._select(
            "SELECT seq, kind, number, time, iif(length(payload) <= ?, payload, NULL), digest FROM events "
            "WHERE seq > ? ORDER BY seq",
            (database.LARGEST_BYTES, after),
        )
        return [_event(self._path, expected, row) for expected, row in enumerate(rows, after + 1)]

    def history(self, after: int = 0, earlier: History | None = None) -> list[Event]:
        """Every event with a seq above `after`, checked for consistency (`consistent.check`) with the earlier ones."""
        events = self.events(after)
        check(self._path, self.info, events, earlier or History())
        return events

    def trials(self) -> list[Trial]:
        """Finished trials (evaluated, or without a candidate to evaluate) by number, even if the strategy has not
        received the result yet."""
        return fold(self.history()).finished()

    def sessions(self) -> list[Session]:
        return fold(self.events()).sessions

    # --- the database ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Merge the log into `journal.db` and release the lock. Closing twice is not an error."""
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
            if not isinstance(error, KernelwrightError):  # else that error explains more
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
                if self._lock_fd is None:
                    database.limit_reading(self._connection)
                return self._connection.execute(statement, values).fetchall()
            except database.UNREADABLE as error:
                raise database.unreadable(self._path, error) from error


def digest(seq: int, kind: str, number: int | None, time: str, payload: str) -> str:
    """The digest of one event, including its seq, so that accidental changes, moves and insertions are detected. It is
    not a signature: a person who changes a journal on purpose can compute digests, too."""
    return codec.sha(codec.encode([seq, kind, number, time, payload]))


def _event(path: Path, expected: int, row: tuple[Any, ...]) -> Event:
    """Decode and check one row. expected: the seq that follows the previous event's."""
    seq, kind, number, time, payload, stored = row
    which = f"event {seq} of {path} ({str(kind)[:20]})"
    if seq != expected:
        raise RunFolderError(f"{which} found where event {expected} was expected", TAKE_ANOTHER)
    if not isinstance(payload, str) or not isinstance(time, str) or not (number is None or isinstance(number, int)):
        raise RunFolderError(f"{which} cannot be read: a field is of another type, or too large", TAKE_ANOTHER)
    try:
        known = EventKind(kind)
        event = Event(seq, known, number, time, codec.decode(payload, PAYLOADS[known]))
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise RunFolderError(f"{which} cannot be read: {error}") from error
    if LONG_NUMBER.search(payload):
        for fault in large_numbers(event.payload):
            raise RunFolderError(f"{which} does not make sense: {fault}", TAKE_ANOTHER)
    if stored != digest(seq, kind, number, time, payload):
        raise RunFolderError(f"{which} is damaged: its digest does not match", TAKE_ANOTHER)
    return event
