"""What holds of a journal whatever is written to it: order, durability, one writer, readers that never wait."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fakes import STARTER, evaluation_of, run_info
from kernelwright.errors import KernelwrightError, RunFolderError
from kernelwright.journal import Event, EventKind, Journal, fold
from kernelwright.model import Budget, Candidate, Evaluation, Operator, Proposal, Request, Status


def fill(journal: Journal, seed: int, trials: int = 12) -> list[Event]:
    """A random, legal history: each trial gets as far as chance has it."""
    rng = random.Random(seed)
    events = [journal.append_started(Budget(trials=trials))]
    for number in range(trials):
        candidate = Candidate(source=f"BLOCK = {2 ** rng.randrange(4, 10)}\n# {number}\n", config={"num_warps": number})
        events.append(
            journal.append_asked(Request(number=number, operator=rng.choice(list(Operator)), round=number // 4))
        )
        if rng.random() < 0.9:
            failed = rng.random() < 0.2
            proposal = Proposal(author="x", error="no code") if failed else Proposal(author="x", candidate=candidate)
            events.append(journal.append_proposed(number, proposal))
            if not failed and rng.random() < 0.9:
                events.append(journal.append_evaluated(number, evaluation_of(candidate, "search")))
                if rng.random() < 0.9:
                    events.append(journal.append_told(number))
    events.append(journal.append_stopped("finished", 1.5))
    return events


@pytest.mark.parametrize("seed", range(8))
def test_what_was_appended_is_read_back_in_order_by_anyone(tmp_path: Path, seed: int) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        events = fill(journal, seed)
        assert journal.events() == events
        with Journal.open(tmp_path) as reader:
            assert reader.events() == events
    with Journal.open(tmp_path) as reader:
        assert reader.events() == events
        assert reader.info == run_info()


@pytest.mark.parametrize("seed", range(8))
def test_events_after_a_seq_are_the_rest(tmp_path: Path, seed: int) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        events = fill(journal, seed)
        for event in events:
            assert journal.events(after=event.seq) == events[events.index(event) + 1 :]


@pytest.mark.parametrize("seed", range(8))
def test_every_request_is_open_or_proposed_and_every_trial_is_finished(tmp_path: Path, seed: int) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        events = fill(journal, seed)
        asked = {e.number for e in events if e.kind is EventKind.ASKED}
        proposed = {e.number for e in events if e.kind is EventKind.PROPOSED}
        assert {request.number for request in fold(journal.events()).open_requests()} == asked - proposed
        numbers = [trial.number for trial in journal.trials()]
        assert numbers == sorted(set(numbers))
        for trial in journal.trials():
            assert (trial.evaluation is None) == (trial.proposal.candidate is None)
        evaluated = {e.number for e in events if e.kind is EventKind.EVALUATED}
        assert evaluated <= set(numbers) <= proposed


def test_after_closing_the_database_alone_is_the_whole_record(tmp_path: Path) -> None:
    with Journal.create(tmp_path / "run", run_info()) as journal:
        events = fill(journal, 1)
        sha = journal.put_blob("a prompt")
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "run" / "journal.db", tmp_path / "copy")
    assert not list((tmp_path / "run").glob("journal.db-*"))
    # sqlite.org/fileformat.html, 1.3.3: 2 would be WAL, which cannot be read from a read-only folder.
    assert (tmp_path / "copy" / "journal.db").read_bytes()[18:20] == b"\x01\x01"
    (tmp_path / "copy").chmod(0o500)
    with Journal.open(tmp_path / "copy") as copy:
        assert copy.events() == events
        assert copy.blob(sha) == "a prompt"
    (tmp_path / "copy").chmod(0o700)


def test_closing_while_someone_reads_loses_nothing(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "run", run_info())
    events = fill(journal, 2)
    with Journal.open(tmp_path / "run") as reader:
        assert reader.events() == events
        journal.close()
        assert reader.events() == events
        shutil.copytree(tmp_path / "run", tmp_path / "copy")
    with Journal.open(tmp_path / "copy", writable=True) as copy:
        assert copy.events() == events


def test_appends_from_many_threads_are_all_kept_once(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:

        def append(first: int) -> None:
            for number in range(first, first + 20):
                journal.append_asked(Request(number=number, operator=Operator.IMPROVE))
                journal.put_blob(f"prompt {number % 7}")

        threads = [threading.Thread(target=append, args=(first,)) for first in range(0, 100, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        events = journal.events()
        assert [event.seq for event in events] == list(range(1, 101))
        assert sorted(event.number for event in events if event.number is not None) == list(range(100))


def test_a_second_writer_is_refused_and_readers_are_not(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        with pytest.raises(RunFolderError, match=f"another kernelwright \\(process {os.getpid()}\\)"):
            Journal.open(tmp_path, writable=True)
        with Journal.open(tmp_path) as one, Journal.open(tmp_path) as two:
            journal.append_started(Budget())
            assert one.events() == two.events() == journal.events()
    with Journal.open(tmp_path, writable=True) as again:
        again.append_stopped("finished", 0.0)
        assert len(again.events()) == 2


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    Journal.create(tmp_path, run_info()).close()
    with Journal.open(tmp_path) as reader:
        with pytest.raises(KernelwrightError, match="open for reading only"):
            reader.append_told(0)
        with pytest.raises(KernelwrightError, match="open for reading only"):
            reader.put_blob("text")


@pytest.mark.parametrize("kind", ["asked", "proposed", "evaluated", "told", "confirmed"])
def test_nothing_happens_to_a_trial_twice(tmp_path: Path, kind: str) -> None:
    with Journal.create(tmp_path, run_info()) as journal:

        def append() -> None:
            passed = Evaluation(status=Status.PASSED)
            if kind == "asked":
                journal.append_asked(Request(number=3, operator=Operator.SEED))
            elif kind == "proposed":
                journal.append_proposed(3, Proposal(author="x", candidate=STARTER))
            elif kind == "evaluated":
                journal.append_evaluated(3, passed)
            elif kind == "told":
                journal.append_told(3)
            else:
                journal.append_confirmed(3, passed)

        append()
        with pytest.raises(KernelwrightError, match=f"trial 3 was already {kind}"):
            append()
        assert len(journal.events()) == 1


def test_a_reader_in_the_middle_of_a_long_read_stops_no_append(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_started(Budget())
        reader = sqlite3.connect(tmp_path / "journal.db")
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
        journal.append_asked(Request(number=0, operator=Operator.SEED))
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
        assert len(journal.events()) == 2
        reader.close()


WRITE_UNTIL_KILLED = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from fakes import run_info
from kernelwright.journal import Journal
from kernelwright.model import Operator, Request
journal = Journal.create(Path({folder!r}), run_info())
for number in range(1_000_000):
    journal.append_asked(Request(number=number, operator=Operator.IMPROVE))
    print(number, flush=True)
"""


def test_a_writer_killed_in_the_middle_loses_nothing_that_it_reported_and_no_reader_waits(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    path = [str(Path(__file__).parents[1])]
    script = WRITE_UNTIL_KILLED.format(path=path, folder=str(folder))
    writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    for _ in range(20):
        writer.stdout.readline()
    with Journal.open(folder) as reader:
        seen = len(reader.events())
        assert seen >= 20
        deadline = time.monotonic() + 600
        while len(reader.events()) == seen:
            assert time.monotonic() < deadline, "the writer stands still while somebody reads"
    writer.send_signal(signal.SIGKILL)
    reported = writer.stdout.read().split()
    writer.wait()
    writer.stdout.close()
    shutil.copytree(folder, tmp_path / "copy")
    for where in (folder, tmp_path / "copy"):
        with Journal.open(where) as reader:
            numbers = [event.number for event in reader.events()]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= int(reported[-1]) + 1
    with Journal.open(folder, writable=True) as heir:
        heir.append_asked(Request(number=len(numbers), operator=Operator.IMPROVE))
        assert len(heir.events()) == len(numbers) + 1
