"""`benchmarks/kept_records.py`: kept journals and benches state every field, and what a field less does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import scripts
from fakes import run_info
from kernelwright.journal import Journal
from kernelwright.journal.events import SessionStart
from kernelwright.model import Budget

kept = scripts.script("kept_records")


def test_every_kept_file_states_every_field() -> None:
    assert kept.main(["--check"]) == 0


def test_a_journal_without_a_field_is_written_again_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "problem" / "runs" / "one"
    with Journal.create(folder, run_info()) as journal:
        journal.append_started(Budget(trials=3))
    assert kept.main(["--check"], [tmp_path]) == 0
    with closing(sqlite3.connect(folder / "journal.db")) as connection, connection:
        connection.execute("""UPDATE events SET payload = '{"budget":{"trials":3}}'""")
    assert kept.main(["--check"], [tmp_path]) == 1
    assert kept.main([], [tmp_path]) == 0
    assert kept.main(["--check"], [tmp_path]) == 0
    with Journal.open(folder) as journal:
        (event,) = journal.events()
    assert event.payload == SessionStart(budget=Budget(trials=3))
