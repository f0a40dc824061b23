"""What a journal says of bad folders, and what it computes from its events."""

from __future__ import annotations

import fcntl
import resource
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from fakes import STARTER, evaluation_of, run_info
from kernelwright import codec
from kernelwright.errors import KernelwrightError, RunFolderError
from kernelwright.journal import Event, EventKind, Journal, SessionEnd, SessionStart, database, fold, writer_lock
from kernelwright.model import Budget, Candidate, CaseResult, Evaluation, Operator, Proposal, Request, Status


def refusal(folder: Path, writable: bool = False) -> str:
    with pytest.raises(RunFolderError) as caught:
        Journal.open(folder, writable)
    message = str(caught.value)
    assert "\n" not in message
    return message


def alter(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "journal.db")
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("writable", [False, True])
def test_a_folder_that_is_missing_or_holds_no_journal_is_named(tmp_path: Path, writable: bool) -> None:
    assert f"{tmp_path / 'nowhere'} does not exist" in refusal(tmp_path / "nowhere", writable)
    assert f"{tmp_path} holds no journal.db" in refusal(tmp_path, writable)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("writable", [False, True])
def test_a_file_that_is_not_a_database_is_refused_and_left_as_it_is(tmp_path: Path, writable: bool) -> None:
    (tmp_path / "journal.db").write_text("once upon a time " * 300)
    assert "is not a SQLite database" in refusal(tmp_path, writable)
    assert (tmp_path / "journal.db").read_text() == "once upon a time " * 300


@pytest.mark.parametrize("writable", [False, True])
def test_a_journal_without_its_head_is_half_written(tmp_path: Path, writable: bool) -> None:
    (tmp_path / "journal.db").touch()
    assert "half-written" in refusal(tmp_path, writable)
    Journal.create(tmp_path / "run", run_info()).close()
    alter(tmp_path / "run", "DELETE FROM meta WHERE key = 'info'")
    assert "half-written" in refusal(tmp_path / "run", writable)


@pytest.mark.parametrize("writable", [False, True])
def test_a_journal_of_another_version_says_both_versions(tmp_path: Path, writable: bool) -> None:
    Journal.create(tmp_path, run_info()).close()
    alter(tmp_path, "UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    message = refusal(tmp_path, writable)
    assert "schema version 99" in message
    assert "reads version 1" in message


def test_another_schema_has_another_number() -> None:
    """Change this line together with `SCHEMA_VERSION`."""
    schema = "\n".join(sorted(map(str, database._schema())))
    assert (database.SCHEMA_VERSION, codec.sha(schema)[:16]) == (1, "b5280286f1a21317")


@pytest.mark.parametrize("place", [b"key TEXT PRIMARY KEY", b"schema_version", b"TABLE meta"])
def test_text_that_is_not_utf8_is_refused(tmp_path: Path, place: bytes) -> None:
    Journal.create(tmp_path, run_info()).close()
    file = tmp_path / "journal.db"
    damaged = file.read_bytes().replace(place, b"\xdf" + place[1:])
    assert damaged != file.read_bytes()
    file.write_bytes(damaged)
    assert "journal.db" in refusal(tmp_path)


def test_a_head_that_does_not_describe_a_run_is_refused(tmp_path: Path) -> None:
    Journal.create(tmp_path, run_info()).close()
    alter(tmp_path, """UPDATE meta SET value = '{"schema_version": 1}' WHERE key = 'info'""")
    assert "does not describe a run" in refusal(tmp_path)


def test_an_event_that_cannot_be_read_is_named_by_its_seq(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_asked(Request(number=0, operator=Operator.SEED))
    alter(tmp_path, "UPDATE events SET payload = '{}'")
    with Journal.open(tmp_path) as journal, pytest.raises(RunFolderError, match=r"event 1 of .* \(asked\)"):
        journal.events()
    alter(tmp_path, "UPDATE events SET kind = 'danced'")
    with Journal.open(tmp_path) as journal, pytest.raises(RunFolderError, match=r"event 1 of .* \(danced\)"):
        journal.events()


def test_a_folder_that_holds_a_run_takes_no_second_one(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_started(Budget())
    with pytest.raises(RunFolderError, match="already holds a run"):
        Journal.create(tmp_path, run_info(seed=7))
    with Journal.open(tmp_path) as journal:
        assert journal.info == run_info()
        assert len(journal.events()) == 1


def test_a_run_that_is_being_written_is_named_as_such_to_a_second_one(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()), pytest.raises(RunFolderError, match="already holds a run"):
        Journal.create(tmp_path, run_info(seed=7))


def test_a_run_that_came_while_the_lock_was_waited_for_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = writer_lock.lock

    def late(folder: Path) -> int:
        monkeypatch.setattr(writer_lock, "lock", lock)
        Journal.create(folder, run_info()).close()
        return lock(folder)

    monkeypatch.setattr(writer_lock, "lock", late)
    with pytest.raises(RunFolderError, match="already holds a run"):
        Journal.create(tmp_path, run_info(seed=7))
    with Journal.open(tmp_path, writable=True) as journal:
        assert journal.info == run_info()


def test_a_run_that_was_killed_while_its_journal_was_created_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            Journal.create(tmp_path, run_info())
    assert not (tmp_path / "journal.db").exists()
    (tmp_path / "journal.db.new").write_bytes(b"of a process that was killed in the middle of a page")
    Journal.create(tmp_path, run_info()).close()
    with Journal.open(tmp_path) as journal:
        assert journal.info == run_info()
    assert not [path.name for path in tmp_path.iterdir() if "new" in path.name]


def test_a_refused_opening_leaves_the_run_free_for_the_next_writer(tmp_path: Path) -> None:
    Journal.create(tmp_path, run_info()).close()
    alter(tmp_path, "UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    refusal(tmp_path, writable=True)
    alter(tmp_path, "UPDATE meta SET value = '1' WHERE key = 'schema_version'")
    Journal.open(tmp_path, writable=True).close()


def test_one_who_only_looks_whether_a_run_is_written_keeps_no_writer_out(tmp_path: Path) -> None:
    Journal.create(tmp_path, run_info()).close()
    with (tmp_path / "journal.lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        leaving = threading.Timer(0.05, fcntl.flock, (looking, fcntl.LOCK_UN))
        leaving.start()
        Journal.open(tmp_path, writable=True).close()
        leaving.join()


def test_what_is_appended_together_is_committed_at_once(tmp_path: Path) -> None:
    with Journal.create(tmp_path / "run", run_info()) as journal, Journal.open(tmp_path / "run") as reader:
        with journal.together():
            journal.append_started(Budget())
            journal.append_asked(Request(number=0, operator=Operator.SEED, candidate=STARTER))
            assert len(journal.events()) == 2
            assert reader.events() == [], "not committed yet"
        assert len(reader.events()) == 2
        with pytest.raises(KeyboardInterrupt):
            interrupted(journal)
        assert len(reader.events()) == 3, "what was appended was true"


def interrupted(journal: Journal) -> None:
    with journal.together():
        journal.append_proposed(0, Proposal(author="starter", candidate=STARTER))
        raise KeyboardInterrupt


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT"])
def test_an_interrupt_right_after_a_statement_loses_no_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    execute = Journal._execute

    def interrupted(journal: Journal, text: str, values: tuple[Any, ...]) -> Any:
        execute(journal, text, values)
        if text.startswith(statement):
            raise KeyboardInterrupt
        return None

    with Journal.create(tmp_path / "run", run_info()) as journal:
        monkeypatch.setattr(Journal, "_execute", interrupted)
        with pytest.raises(KeyboardInterrupt), journal.together() if statement == "BEGIN" else nullcontext():
            journal.append_started(Budget())
        monkeypatch.undo()
        journal.append_stopped("interrupted", 1.0)
    with Journal.open(tmp_path / "run") as journal:
        started = [EventKind.STARTED] * (statement == "INSERT")
        assert [event.kind for event in journal.events()] == [*started, EventKind.STOPPED]


def test_a_full_disk_is_said_and_events_that_fit_later_are_kept(tmp_path: Path) -> None:
    with Journal.create(tmp_path / "run", run_info()) as journal:
        assert journal._connection is not None
        ((pages,),) = journal._connection.execute("PRAGMA page_count")
        journal._connection.execute(f"PRAGMA max_page_count={pages}")
        long = Proposal(author="starter", candidate=Candidate(source="#" * 100_000))
        with pytest.raises(RunFolderError, match="full"), journal.together():
            journal.append_proposed(0, long)
        journal._connection.execute(f"PRAGMA max_page_count={pages + 1000}")
        journal.append_proposed(0, long)
    with Journal.open(tmp_path / "run") as journal:
        assert [event.seq for event in journal.events()] == [1]


def test_another_thread_waits_until_what_is_appended_together_is_committed(tmp_path: Path) -> None:
    with Journal.create(tmp_path / "run", run_info()) as journal:
        other = threading.Thread(target=journal.append_started, args=(Budget(),))
        with journal.together():
            other.start()
            other.join(0.2)
            assert other.is_alive()
        other.join()
        assert [event.kind for event in journal.events()] == [EventKind.STARTED]


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, run_info())
    journal.close()
    journal.close()
    with pytest.raises(KernelwrightError, match="is closed"):
        journal.events()
    with pytest.raises(KernelwrightError, match="is closed"):
        journal.append_told(1)


def test_a_blob_is_found_by_its_hash_and_kept_once(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        sha = journal.put_blob("µs, not us\r\n")
        assert journal.put_blob("µs, not us\r\n") == sha == codec.sha("µs, not us\r\n")
        assert journal.blob(sha) == "µs, not us\r\n"
        with pytest.raises(RunFolderError, match="no blob 0123"):
            journal.blob("0123")


def test_the_view_for_people_shows_each_trial_with_its_outcome(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_asked(Request(number=0, operator=Operator.SEED))
        journal.append_proposed(0, Proposal(author="starter", candidate=STARTER))
        journal.append_evaluated(0, evaluation_of(STARTER, "search"))
        journal.append_asked(Request(number=1, operator=Operator.IMPROVE, round=1, parents=(0,)))
        journal.append_proposed(1, Proposal(author="fake", error="no code"))
        journal.append_asked(Request(number=2, operator=Operator.IMPROVE, round=1, parents=(0,)))
    connection = sqlite3.connect(tmp_path / "journal.db")
    rows = connection.execute(
        "SELECT number, operator, parents, author, status, error, score_us FROM trials"
    ).fetchall()
    connection.close()
    assert rows == [
        (0, "seed", "[]", "starter", "passed", None, 400.0),
        (1, "improve", "[0]", "fake", None, "no code", None),
        (2, "improve", "[0]", None, None, None, None),
    ]


def test_sessions_are_read_off_the_events_and_a_killed_one_lasts_to_its_last_event() -> None:
    def event(seq: int, kind: EventKind, second: int, payload: SessionStart | SessionEnd | None = None) -> Event:
        return Event(seq, kind, None, f"2026-01-01T00:00:{second:02d}.500+00:00", payload)

    start = SessionStart(budget=Budget(trials=3))
    end = SessionEnd(reason="finished", seconds=4.25)
    events = [
        event(1, EventKind.STARTED, 1, start),
        event(2, EventKind.TOLD, 8),
        event(3, EventKind.STARTED, 30, start),
        event(4, EventKind.TOLD, 33),
        event(5, EventKind.STOPPED, 35, end),
        event(6, EventKind.STARTED, 50, start),
    ]
    sessions = fold(events).sessions
    assert [session.seconds for session in sessions] == [7.0, 4.25, 0.0]
    assert [session.reason for session in sessions] == [None, "finished", None]
    assert all(session.budget == Budget(trials=3) for session in sessions)


def test_confirmations_are_kept_apart_from_evaluations(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_asked(Request(number=0, operator=Operator.SEED))
        journal.append_proposed(0, Proposal(author="starter", candidate=STARTER))
        journal.append_evaluated(0, evaluation_of(STARTER, "search"))
        journal.append_confirmed(0, evaluation_of(STARTER, "confirm"))
        assert fold(journal.events()).confirmations == {0: evaluation_of(STARTER, "confirm")}
        assert [trial.evaluation for trial in journal.trials()] == [evaluation_of(STARTER, "search")]


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process grows or changes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_is_said_once_with_the_file_and_nothing_before_is_lost(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, run_info())
    journal.append_started(Budget(trials=1))
    with full_disk(), pytest.raises(RunFolderError, match=r"journal\.db cannot be written: "), journal:
        journal.append_started(Budget(trials=2))
    with Journal.open(tmp_path) as again:
        assert len(again.events()) == 1


def test_a_journal_that_cannot_be_folded_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, run_info())
    journal.append_started(Budget(trials=1))
    with full_disk(), pytest.raises(RunFolderError, match=r"journal\.db could not be folded .*nothing is lost"):
        journal.close()
    with Journal.open(tmp_path, writable=True) as again:
        assert len(again.events()) == 1
    assert not (tmp_path / "journal.db-wal").exists()


def test_closing_waits_for_a_reader_that_ends_and_not_for_one_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "READERS_S", 600.0)
    journal = Journal.create(tmp_path, run_info())
    reader = Journal.open(tmp_path)
    assert reader.events() == []
    threading.Timer(0.2, reader.close).start()
    journal.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.db", "journal.lock"]

    monkeypatch.setattr(database, "READERS_S", 0.1)
    journal = Journal.open(tmp_path, writable=True)
    with Journal.open(tmp_path) as reader:
        journal.append_started(Budget(trials=1))
        journal.close()
        assert len(reader.events()) == 1
    with Journal.open(tmp_path) as again:
        assert len(again.events()) == 1


def test_an_error_of_a_case_may_be_as_large_as_the_values_that_were_drawn(tmp_path: Path) -> None:
    """A draw with values of 2**100 has errors of 2**81 that its tolerance allows; no other figure is so large."""
    case = CaseResult(case="small", status=Status.PASSED, max_abs_error=2.0**81, max_rel_error=1e-6)
    with Journal.create(tmp_path / "run", run_info()) as journal:
        journal.append_started(Budget(trials=1))
        journal.append_asked(Request(number=0, operator=Operator.SEED))
        journal.append_proposed(0, Proposal(author="fake", candidate=STARTER))
        journal.append_evaluated(0, Evaluation(status=Status.PASSED, results=(case,), score_us=10.0))
    with Journal.open(tmp_path / "run") as journal:
        (evaluated,) = (event.payload for event in journal.events() if event.kind is EventKind.EVALUATED)
    assert isinstance(evaluated, Evaluation)
    assert evaluated.results == (case,)
    slow = Evaluation(status=Status.PASSED, results=(case,), score_us=2.0**81)
    with Journal.open(tmp_path / "run", writable=True) as journal:
        journal.append_confirmed(0, slow)
    with pytest.raises(RunFolderError, match="a number is"), Journal.open(tmp_path / "run") as journal:
        list(journal.events())


def test_a_folder_that_cannot_be_made_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=r"cannot be made: File exists .*--out"):
        Journal.create(tmp_path / "file", run_info())


@pytest.mark.parametrize("name", ['a"b', "a'b", "a\\b", "a\nb", "a\x1bb"], ids=ascii)
def test_a_run_whose_name_is_not_fit_for_code_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="a run cannot be called") as error:
        Journal.create(tmp_path / name, run_info())
    assert str(error.value).isprintable()
    assert not (tmp_path / name).exists()
