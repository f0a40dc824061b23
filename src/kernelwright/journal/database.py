"""The SQLite file of a journal: its schema, how it is opened, checked, locked and closed.

What the rows mean is `store`'s business. While a writer is at work the database is in WAL mode: every append is one
synchronous commit that survives `kill -9` and a power cut, and a reader neither waits for the writer nor stops it.
Closing folds the log back in, so `journal.db` alone is then the whole record; after a kill, copy the folder as it
is (`journal.db-wal` belongs to it). A writer holds `journal.lock`, which the kernel releases when the
writer dies, so there is never a second one and never a stale lock.

A journal may come from elsewhere: links are refused, a schema that is not exactly ours is refused before a row is read,
and reading has limits.
"""

from __future__ import annotations

import fcntl
import functools
import os
import sqlite3
import stat
import time
from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.errors import RunFolderError
from kernelwright.folders import open_locked
from kernelwright.model import RunInfo

SCHEMA_VERSION = 1

NAME = "journal.db"
UNFINISHED = "journal.db.new"
"""A journal that is being created."""

LARGEST_BYTES = 64 * 2**20
"""The most that one value may hold. A reply has kilobytes, an evaluation with its log at most some megabytes."""

MOST_BYTES = 8 * 2**30
"""The most that a journal may hold: five thousand trials with prompts of 100 kB need a tenth."""

READING_S = 60.0
"""The most that one statement may take to read. Five thousand trials take less than a second."""

LOOK_EVERY = 100_000
"""Steps of SQLite's machine between two looks at the clock: about a millisecond."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, number INTEGER, time TEXT NOT NULL, payload TEXT NOT NULL@DIGEST@
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
"""The view is for people with the `sqlite3` program; kernelwright itself reads the events. digest: see `store`."""

_DIGEST = {True: ",\n    digest TEXT NOT NULL", False: ""}
"""Journals of before digests were kept are read, and gone on with, as they are."""


def create(path: Path, info: RunInfo) -> sqlite3.Connection:
    """A new journal, complete under another name before it is renamed to `path`: a process that is killed here leaves
    no journal, and the run can begin again. Raises `RunFolderError`, as all of these functions do."""
    unfinished = path.with_name(UNFINISHED)
    for suffix in ("", "-wal", "-shm", "-journal"):
        _refuse_unless_ordinary(path.with_name(path.name + suffix))  # a rename would replace a link
    try:
        for suffix in ("", "-journal"):
            unfinished.with_name(UNFINISHED + suffix).unlink(missing_ok=True)
        connection = _connect(unfinished, "rwc")
        try:
            connection.executescript(f"BEGIN;{_script(True)}")
            text = codec.encode(info).decode()
            head = (("schema_version", str(SCHEMA_VERSION)), ("info", text), ("info_digest", codec.sha(text)))
            connection.executemany("INSERT INTO meta VALUES (?, ?)", head)
            connection.execute("COMMIT")
        finally:
            connection.close()
        unfinished.rename(path)
        connection = _connect(path, "rw")
        try:
            _write_ahead(connection)
        except sqlite3.Error:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        raise RunFolderError(f"{path} cannot be written: {error}") from error
    return connection


UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file raises: SQLite's own message may quote text that is not UTF-8."""


def open_checked(path: Path, writable: bool) -> tuple[sqlite3.Connection, RunInfo, bool]:
    """And whether its events have digests. Refuses a file that is not a journal, one that was never completed, one of
    another schema, and one whose pages are damaged."""
    connection = _connect(path, "rw" if writable else "ro")
    try:
        limit_reading(connection)
        has_digests, info = _read_head(connection, path)
        _check_pages(connection, path)
        if writable:
            connection.set_progress_handler(None, 0)
            _write_ahead(connection)
    except RunFolderError:
        connection.close()
        raise
    except UNREADABLE as error:
        connection.close()
        if "not a database" in str(error):
            raise RunFolderError(f"{path} is not a SQLite database", "name the folder of a run") from error
        raise unreadable(path, error) from error
    return connection, info, has_digests


def limit_reading(connection: sqlite3.Connection) -> None:
    """From here on a statement that takes longer than `READING_S` is interrupted."""
    end_s = time.monotonic() + READING_S
    connection.set_progress_handler(lambda: time.monotonic() > end_s, LOOK_EVERY)


def unreadable(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> RunFolderError:
    if str(error) == "interrupted":
        return RunFolderError(f"{path} cannot be read within {READING_S:.0f} s", "take another copy of the run")
    return RunFolderError(f"{path} cannot be read: {error}")


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
    descriptor = open_locked(folder, path.name)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace")
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
    """The process that holds the writer lock of `folder`; None where no process does, and the folder is not written
    now."""
    path = folder / "journal.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0)
        return int(holder) if holder.isdigit() else None
    finally:
        os.close(descriptor)
    return None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """isolation_level None: each statement is its own transaction, so one INSERT is one atomic, durable append."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        _refuse_unless_ordinary(path.with_name(path.name + suffix))
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.text_factory = lambda text: text.decode("utf-8", "replace")  # what is damaged fails its digest
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        if mode == "ro":
            connection.execute("PRAGMA query_only=ON")
        return connection
    except sqlite3.Error as error:
        raise RunFolderError(f"{path} cannot be opened: {error}") from error


def _write_ahead(connection: sqlite3.Connection) -> None:
    """A file system that cannot do WAL keeps SQLite's rollback journal: as safe, but readers may have to wait."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    # SQLite 3.40 refuses a checkpoint ("table is locked") after quick_check and this change until something was read.
    connection.execute("SELECT key FROM meta LIMIT 1").fetchall()


def _refuse_unless_ordinary(path: Path) -> None:
    """SQLite would follow a link, and would wait for a pipe."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISREG(found.st_mode) and found.st_size > MOST_BYTES:
        raise RunFolderError(
            f"{path} has {found.st_size} bytes; a journal has at most {MOST_BYTES}", "take another copy"
        )
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "no ordinary file"
        raise RunFolderError(f"{path} is {what}; a journal's files are ordinary ones", "put the file itself there")


def _read_head(connection: sqlite3.Connection, path: Path) -> tuple[bool, RunInfo]:
    found = set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))
    meta = {}
    if {entry for entry in _schema(True) if entry[1] == "meta"} <= found:
        meta = dict(connection.execute("SELECT key, value FROM meta WHERE length(value) <= ?", (LARGEST_BYTES,)))
    if "schema_version" not in meta or "info" not in meta:
        raise RunFolderError(f"{path} is half-written: it has no head", "start the run again in another folder")
    if meta["schema_version"] != str(SCHEMA_VERSION):
        raise RunFolderError(
            f"{path} has schema version {str(meta['schema_version'])[:20]}; this kernelwright reads version "
            f"{SCHEMA_VERSION}",
            "use the kernelwright that wrote it",
        )
    has_digests = next((one for one in _DIGEST if found == _schema(one)), None)
    if has_digests is None:
        names = sorted({str(entry[1]) for entry in found ^ _schema(True)})
        raise RunFolderError(
            f"{path} does not have the schema of a journal: see {', '.join(names)[:200]}",
            "it was changed after kernelwright wrote it: take an unchanged copy",
        )
    try:
        info = codec.decode(meta["info"], RunInfo)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise RunFolderError(f"the head of {path} does not describe a run: {error}") from error
    if has_digests and meta.get("info_digest") != codec.sha(meta["info"]):
        raise RunFolderError(f"the head of {path} is damaged: its digest does not match", "take an undamaged copy")
    return has_digests, info


def _check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """The tree of pages holds together; what the rows say is checked row by row."""
    found = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != [("ok",)]:
        raise RunFolderError(f"{path} is damaged: {found[0][0]}", "take an undamaged copy")


def _script(has_digests: bool) -> str:
    return _SCHEMA.replace("@DIGEST@", _DIGEST[has_digests])


@functools.cache
def _schema(has_digests: bool) -> frozenset[tuple[str, str, str, str | None]]:
    """What `sqlite_master` of such a journal holds, and nothing else."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_script(has_digests))
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))
    finally:
        connection.close()
