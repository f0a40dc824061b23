"""The SQLite file of a journal: its schema, how it is opened, checked, locked and closed.

What the rows mean is `store`'s business. While a writer is at work the database is in WAL mode: every append is one
synchronous commit that survives `kill -9` and a power cut, and a reader neither waits for the writer nor stops it.
Closing folds the log back in, so `journal.db` alone is then the whole record; after a kill, copy the folder as it
is (`journal.db-wal` belongs to it). The one rule: a writer holds `journal.lock`, which the kernel releases when the
writer dies, so there is never a second one and never a stale lock.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.errors import RunFolderError
from kernelwright.model import RunInfo

SCHEMA_VERSION = 1
NAME = "journal.db"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, number INTEGER, time TEXT NOT NULL, payload TEXT NOT NULL
);
CREATE UNIQUE INDEX one_of_a_kind_per_trial ON events (kind, number) WHERE number IS NOT NULL;
CREATE TABLE blobs (sha TEXT PRIMARY KEY, bytes BLOB NOT NULL);
CREATE VIEW trials AS
    SELECT asked.number,
           json_extract(asked.payload, '$.round') AS round,
           json_extract(asked.payload, '$.operator') AS operator,
           json_extract(asked.payload, '$.parents') AS parents,
           json_extract(proposed.payload, '$.author') AS author,
           json_extract(evaluated.payload, '$.status') AS status,
           json_extract(proposed.payload, '$.error') AS error,
           json_extract(evaluated.payload, '$.score_us') AS score_us
    FROM events AS asked
    LEFT JOIN events AS proposed ON proposed.number = asked.number AND proposed.kind = 'proposed'
    LEFT JOIN events AS evaluated ON evaluated.number = asked.number AND evaluated.kind = 'evaluated'
    WHERE asked.kind = 'asked';
"""
"""The view is for people with the `sqlite3` program; kernelwright itself reads the events."""


def create(path: Path, info: RunInfo) -> sqlite3.Connection:
    """Raises `RunFolderError`, as all of these functions do."""
    connection = _connect(path, "rwc")
    try:
        _write_ahead(connection)
        connection.executescript(f"BEGIN;{_SCHEMA}")
        head = (("schema_version", str(SCHEMA_VERSION)), ("info", codec.encode(info).decode()))
        connection.executemany("INSERT INTO meta VALUES (?, ?)", head)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        connection.close()
        raise RunFolderError(f"{path} cannot be written: {error}") from error
    return connection


def open_checked(path: Path, writable: bool) -> tuple[sqlite3.Connection, RunInfo]:
    """Refuses a file that is not a journal, one that was never completed, and one of another schema version."""
    connection = _connect(path, "rw" if writable else "ro")
    try:
        info = _read_head(connection, path)
        if writable:
            _write_ahead(connection)
    except RunFolderError:
        connection.close()
        raise
    except sqlite3.Error as error:
        connection.close()
        if "not a database" in str(error):
            raise RunFolderError(f"{path} is not a SQLite database", "name the folder of a run") from error
        raise RunFolderError(f"{path} cannot be read: {error}") from error
    return connection, info


def close(connection: sqlite3.Connection, path: Path, written: bool) -> None:
    """Leave one self-contained file, readable from a read-only folder too.

    A reader at work forbids leaving WAL mode; the checkpoint then still moves everything into the database.
    """
    try:
        if written:
            connection.execute("PRAGMA busy_timeout=1000")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try:
                connection.execute("PRAGMA journal_mode=DELETE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
    except sqlite3.Error as error:
        # Every event was committed before, and the log stays beside the database.
        raise RunFolderError(
            f"{path} could not be folded into one file: {error}",
            f"nothing is lost while {path.name}-wal stays beside it; opening it for writing folds it",
        ) from error
    finally:
        connection.close()


def lock(folder: Path) -> int:
    """A descriptor that holds the folder's writer lock until it is closed.

    The lock is not on the database itself: closing any descriptor of a file drops all of SQLite's own (POSIX) locks
    on it.
    """
    path = folder / "journal.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunFolderError(f"{path} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 20, 0).decode()
        os.close(descriptor)
        message = f"{folder} is being written by another kernelwright (process {holder})"
        raise RunFolderError(message, "wait until it ends, or stop it") from error
    except OSError as error:
        os.close(descriptor)
        raise RunFolderError(f"{path} cannot be locked: {error.strerror}") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def writer(folder: Path) -> int | None:
    """The process that holds the writer lock of `folder`; None where nobody does, and the folder is not written now."""
    path = folder / "journal.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(os.pread(descriptor, 20, 0) or b"0") or None
    finally:
        os.close(descriptor)
    return None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """isolation_level None: each statement is its own transaction, so one INSERT is one atomic, durable append."""
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    try:
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise RunFolderError(f"{path} cannot be opened: {error}") from error


def _write_ahead(connection: sqlite3.Connection) -> None:
    """A file system that cannot do WAL keeps SQLite's rollback journal: as safe, but readers may have to wait."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _read_head(connection: sqlite3.Connection, path: Path) -> RunInfo:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    meta = dict(connection.execute("SELECT key, value FROM meta")) if "meta" in tables else {}
    if "schema_version" not in meta or "info" not in meta:
        raise RunFolderError(f"{path} is half-written: it has no head", "start the run again in another folder")
    if meta["schema_version"] != str(SCHEMA_VERSION):
        raise RunFolderError(
            f"{path} has schema version {meta['schema_version']}; this kernelwright reads version {SCHEMA_VERSION}",
            "use the kernelwright that wrote it",
        )
    try:
        return codec.decode(meta["info"], RunInfo)
    except msgspec.MsgspecError as error:
        raise RunFolderError(f"the head of {path} does not describe a run: {error}") from error
