"""The SQLite database of a journal: its schema, and functions to create, open, check, lock and close it.

`store` reads and writes the rows. While a writer runs, the database is in WAL mode: every append is one synchronous
commit that survives `kill -9` and a power cut, and readers and the writer do not block each other. Closing merges the
log into `journal.db`, which is then the complete journal. After a kill, copy the whole folder (`journal.db-wal` is part
of the journal). `writer_lock` keeps it to one writer.

A journal may come from another person: links are refused, a schema that differs from this one is refused before a row
is read, and reads have limits of size and time.
"""

from __future__ import annotations

import functools
import sqlite3
import stat
import time
from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.errors import RunFolderError
from kernelwright.model import RunInfo

SCHEMA_VERSION = 1

NAME = "journal.db"
UNFINISHED = "journal.db.new"
"""Name of a journal while it is being created."""

LARGEST_BYTES = 64 * 2**20
"""Largest size of one value. A reply has kilobytes, an evaluation with its log at most some megabytes."""

MOST_BYTES = 8 * 2**30
"""Largest size of a journal. Five thousand trials with prompts of 100 kB need a tenth of it."""

READING_S = 60.0
"""Time limit of one reading statement. Five thousand trials take less than a second."""

READERS_S = 2.0
"""How long closing waits for readers to end. A live view has the journal open for a moment only."""

LOOK_EVERY = 100_000
"""Number of SQLite VM instructions between two checks of the time limit: about a millisecond."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, number INTEGER, time TEXT NOT NULL, payload TEXT NOT NULL,
    digest TEXT NOT NULL
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
"""The view `trials` is for people with the `sqlite3` program; kernelwright reads the events. digest: see `store`."""


def create(path: Path, info: RunInfo) -> sqlite3.Connection:
    """Create a journal under another name and rename it to `path` when it is complete: a process that is killed here
    leaves no journal, and the run can be started again. Raises `RunFolderError`, as all functions of this file do."""
    unfinished = path.with_name(UNFINISHED)
    for suffix in ("", "-wal", "-shm", "-journal"):
        _refuse_unless_ordinary(path.with_name(path.name + suffix))  # a rename would replace a link
    try:
        for suffix in ("", "-journal"):
            unfinished.with_name(UNFINISHED + suffix).unlink(missing_ok=True)
        connection = _connect(unfinished, "rwc")
        try:
            connection.executescript(f"BEGIN;{_SCHEMA}")
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
"""Errors that reading a damaged file raises; SQLite's own message may quote text that is not UTF-8."""


def open_checked(path: Path, writable: bool) -> tuple[sqlite3.Connection, RunInfo]:
    """Open a journal; return its connection and its head. Refuses a file that is not a journal, that was never
    completed, has another schema, or has damaged pages."""
    connection = _connect(path, "rw" if writable else "ro")
    try:
        limit_reading(connection)
        info = _read_head(connection, path)
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
    return connection, info


def last_seq(folder: Path) -> int:
    """Of the last event in the folder's journal; 0 before the first. Takes less than a millisecond. The sizes and times
    of the files do not tell: a writer's log has a commit before readers see it."""
    path = folder / NAME
    connection = _connect(path, "ro")
    try:
        limit_reading(connection)
        ((last,),) = connection.execute("SELECT coalesce(max(seq), 0) FROM events")
        return int(last)
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    finally:
        connection.close()


def limit_reading(connection: sqlite3.Connection) -> None:
    """Interrupt statements on this connection once `READING_S` have passed from now."""
    end_s = time.monotonic() + READING_S
    connection.set_progress_handler(lambda: time.monotonic() > end_s, LOOK_EVERY)


def unreadable(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> RunFolderError:
    if str(error) == "interrupted":
        return RunFolderError(f"{path} cannot be read within {READING_S:.0f} s", "take another copy of the run")
    return RunFolderError(f"{path} cannot be read: {error}")


def close(connection: sqlite3.Connection, path: Path, written: bool) -> None:
    """Close the connection. written: first merge the log, so that one self-contained file is left, readable also from a
    read-only folder.

    An open reader prevents leaving WAL mode; the checkpoint then still moves everything into the database, and beside
    it stay an empty log and its index.
    """
    try:
        if written:
            connection.execute("PRAGMA busy_timeout=1000")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            end_s = time.monotonic() + READERS_S
            while not _left_wal_mode(connection) and time.monotonic() < end_s:
                time.sleep(0.02)
    except sqlite3.Error as error:
        # Every event was committed before, and the log stays next to the database.
        raise RunFolderError(
            f"{path} could not be folded into one file: {error}",
            f"nothing is lost while {path.name}-wal stays beside it; opening it for writing folds it",
        ) from error
    finally:
        connection.close()


def _left_wal_mode(connection: sqlite3.Connection) -> bool:
    """Leave WAL mode, unless a reader has the database open now: SQLite does not wait for it."""
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    return True


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a connection. isolation_level None: each statement is a transaction, so one INSERT is an atomic, durable
    append."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        _refuse_unless_ordinary(path.with_name(path.name + suffix))
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.text_factory = lambda text: text.decode("utf-8", "replace")  # damaged text then fails its digest
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        if mode == "ro":
            connection.execute("PRAGMA query_only=ON")
        return connection
    except sqlite3.Error as error:
        raise RunFolderError(f"{path} cannot be opened: {error}") from error


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode. On a file system without WAL, SQLite keeps its rollback journal: as safe, but readers may
    have to wait."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    # SQLite 3.40 refuses a checkpoint ("table is locked") after quick_check and this change until something was read.
    connection.execute("SELECT key FROM meta LIMIT 1").fetchall()


def _refuse_unless_ordinary(path: Path) -> None:
    """Raise `RunFolderError` unless `path` is missing or a regular file of at most `MOST_BYTES`: SQLite would follow a
    link, and wait for a pipe."""
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


def _read_head(connection: sqlite3.Connection, path: Path) -> RunInfo:
    found = set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))
    meta = {}
    if {entry for entry in _schema() if entry[1] == "meta"} <= found:
        meta = dict(connection.execute("SELECT key, value FROM meta WHERE length(value) <= ?", (LARGEST_BYTES,)))
    if "schema_version" not in meta or "info" not in meta:
        raise RunFolderError(f"{path} is half-written: it has no head", "start the run again in another folder")
    if meta["schema_version"] != str(SCHEMA_VERSION):
        raise RunFolderError(
            f"{path} has schema version {str(meta['schema_version'])[:20]}; this kernelwright reads version "
            f"{SCHEMA_VERSION}",
            "use the kernelwright that wrote it",
        )
    if found != _schema():
        names = sorted({str(entry[1]) for entry in found ^ _schema()})
        raise RunFolderError(
            f"{path} does not have the schema of a journal: see {', '.join(names)[:200]}",
            "it was changed after kernelwright wrote it: take an unchanged copy",
        )
    try:
        info = codec.decode(meta["info"], RunInfo)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise RunFolderError(f"the head of {path} does not describe a run: {error}") from error
    if meta.get("info_digest") != codec.sha(meta["info"]):
        raise RunFolderError(f"the head of {path} is damaged: its digest does not match", "take an undamaged copy")
    return info


def _check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `RunFolderError` if SQLite finds damaged pages. `store` checks the content of each row."""
    found = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != [("ok",)]:
        raise RunFolderError(f"{path} is damaged: {found[0][0]}", "take an undamaged copy")


@functools.cache
def _schema() -> frozenset[tuple[str, str, str, str | None]]:
    """The exact rows of `sqlite_master` in a journal."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_SCHEMA)
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))
    finally:
        connection.close()
