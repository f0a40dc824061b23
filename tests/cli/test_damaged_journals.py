"""Journals that were damaged or made by somebody else: each is refused in one line or shown as it was.

Never as something else, and never in a traceback.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import PROBLEM, run
from fakes import FakeWorker
from kernelwright import codec
from kernelwright.errors import RunFolderError
from kernelwright.journal import NAME, Journal
from kernelwright.journal import database as database_module
from samples import SOURCE

READERS = (
    ("report",), ("report", "--format", "json"), ("report", "--format", "md"), ("show",), ("show", "--json"),
    ("show", "3"), ("export", "--format", "csv", "--out", "exported"),
    ("export", "--format", "trace", "--out", "traced"),
)  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of nine trials, some written as replies, with everything that a journal can hold."""
    home = tmp_path_factory.mktemp("sound")
    (home / "double").mkdir()
    (home / "double" / "problem.py").write_text(PROBLEM)
    (home / "double" / "starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    lines = [{"reply": f"Idea.\n\n```python\n{SOURCE.replace('1024', str(2**n))}```\n"} for n in range(7, 12)]
    lines += [{"error": "no code in the reply"}] * 4
    (home / "script.jsonl").write_bytes(b"\n".join(codec.encode(line) for line in lines))
    words = ["optimize", str(home / "double"), "--out", str(home / "run"), "--in-flight", "1", "--trials", "9"]
    done = run(*words, "--proposer", "script", "--proposer-option", f"file={home / 'script.jsonl'}")
    assert done.exit_code == 0, done.stderr
    return home / "run"


def answers(folder: Path, home: Path) -> dict[str, str | None]:
    """What each reader printed or wrote of the run; None where it refused in one line."""
    found: dict[str, str | None] = {}
    for verb, *words in READERS:
        for made in ("exported", "traced"):
            shutil.rmtree(home / made, ignore_errors=True)
        done = run(verb, str(folder), *words)
        name = " ".join((verb, *words))
        assert done.exception is None or isinstance(done.exception, SystemExit), (name, done.exception)
        if done.exit_code == 2:
            assert len(done.stderr.splitlines()) == 1, done.stderr
            assert done.stderr.startswith("error: ")
            found[name] = None
        else:
            assert done.exit_code == 0, (name, done.output)
            files = sorted(path for made in ("exported", "traced") for path in (home / made).rglob("*.*"))
            found[name] = done.stdout + "".join(path.read_text() for path in files if path.is_file())
    listed = run("runs", str(folder.parent), "--json")
    assert listed.exit_code == 0
    assert '"bystander"' in listed.stdout, "one broken run does not break the list"
    return found


def damaged(rng: random.Random, content: bytes) -> bytes:
    """One of the ways in which a file breaks."""
    found = bytearray(content)
    place, kind = rng.randrange(len(found)), rng.randrange(8)
    if kind < 5:
        found[place] ^= 1 << rng.randrange(8)
    elif kind == 5:
        del found[place:]
    elif kind == 6:
        found[place : place + 512] = bytes(len(found[place : place + 512]))
    else:
        found[place : place + 64] = rng.randbytes(len(found[place : place + 64]))
    return bytes(found)


@pytest.mark.parametrize("part", range(2))
def test_a_damaged_journal_is_refused_or_shown_as_it_was(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "run"
    shutil.copytree(sound, folder)
    shutil.copytree(sound, tmp_path / "runs" / "bystander")
    truth, content = answers(folder, tmp_path), (folder / NAME).read_bytes()
    assert None not in truth.values()
    refused = 0
    for seed in range(25):
        (folder / NAME).write_bytes(damaged(random.Random(f"{part} {seed}"), content))
        for name, answer in answers(folder, tmp_path).items():
            refused += answer is None
            assert answer is None or answer == truth[name], (part, seed, name)
    assert refused > 0


def rows_of(folder: Path) -> list[str]:
    """Everything in the file, as SQL."""
    connection = sqlite3.connect(folder / NAME)
    connection.text_factory = bytes
    found = [connection.execute(f"SELECT * FROM {name}").fetchmany(1000) for name in ("meta", "events", "blobs")]
    connection.close()
    return [repr(rows) for rows in found]


def rewritten(statement: str) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.executescript(statement)


def payload(kind: str, old: str, new: str) -> Callable[[sqlite3.Connection], object]:
    """A change of what events of a kind say, their digests made to fit: nothing but sense can refuse it."""

    def change(connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT * FROM events WHERE kind = ?", (kind,)).fetchall()
        changed = [row for row in rows if old in row[4]]
        assert changed, (kind, old)
        for seq, _, number, when, text, *_ in changed:
            fresh = text.replace(old, new, 1)
            connection.execute(
                "UPDATE events SET payload = ?, digest = ? WHERE seq = ?",
                (fresh, codec.sha(codec.encode([seq, kind, number, when, fresh])), seq),
            )

    return change


def head(old: str, new: str) -> Callable[[sqlite3.Connection], object]:
    def change(connection: sqlite3.Connection) -> None:
        ((text,),) = connection.execute("SELECT value FROM meta WHERE key = 'info'")
        assert old in text
        fresh = text.replace(old, new, 1)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'info'", (fresh,))
        connection.execute("UPDATE meta SET value = ? WHERE key = 'info_digest'", (codec.sha(fresh),))

    return change


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"

FOREIGN = {
    "a view in the place of the events": rewritten(
        "DROP VIEW trials; DROP TABLE events; CREATE VIEW events AS "
        f"{ENDLESS} i AS seq, 'told' AS kind, i AS number, '' AS time, 'null' AS payload, '' AS digest FROM n"
    ),
    "a view in the place of the head": rewritten(
        "ALTER TABLE meta RENAME TO kept; CREATE VIEW meta AS SELECT key, value FROM kept UNION ALL "
        f"SELECT * FROM ({ENDLESS} i, i FROM n)"
    ),
    "a trigger": rewritten("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM blobs; END"),
    "another table": rewritten("CREATE TABLE more (x)"),
    "a virtual table": rewritten("CREATE VIRTUAL TABLE more USING fts5(x)"),
    "another index": rewritten("CREATE INDEX more ON events (json_extract(payload, '$.x'))"),
    "a column with a default": rewritten("ALTER TABLE events ADD COLUMN more TEXT DEFAULT 'x'"),
    "statistics": rewritten("ANALYZE"),
    "no index": rewritten("DROP INDEX one_of_a_kind_per_trial"),
    "events as bytes": rewritten("UPDATE events SET payload = CAST(payload AS BLOB)"),
    "times as numbers": rewritten("UPDATE events SET time = x'00'"),
    "a number as text": rewritten("UPDATE events SET number = 'one' WHERE kind = 'told' AND number = 1"),
    "an event taken out": rewritten("DELETE FROM events WHERE seq = 4"),
    "events renumbered": rewritten("UPDATE events SET seq = seq + 100"),
    "a trial that nobody asked for": rewritten("DELETE FROM events WHERE kind = 'asked' AND number = 2"),
    "a head that is bytes": rewritten("UPDATE meta SET value = x'ff' WHERE key = 'info'"),
    "another head": rewritten("UPDATE meta SET value = replace(value, '64', '65') WHERE key = 'info'"),
    "a head without its digest": rewritten("DELETE FROM meta WHERE key = 'info_digest'"),
    "a score of nothing": payload("evaluated", '"score_us":400.0', '"score_us":0.0'),
    "a score below nothing": payload("evaluated", '"score_us":400.0', '"score_us":-400.0'),
    "a score without end": payload("evaluated", '"score_us":400.0', '"score_us":1e400'),
    "a score beyond counting": payload("evaluated", '"score_us":400.0', '"score_us":1e300'),
    "a time of nothing": payload("evaluated", '"median_us":400.0', '"median_us":0'),
    "an interval below nothing": payload("evaluated", '"ci95_us":[', '"ci95_us":[-'),
    "400 digits": payload("proposed", '"input_tokens":0', f'"input_tokens":{"9" * 400}'),
    "5000 digits": payload("proposed", '"input_tokens":0', f'"input_tokens":{"9" * 5000}'),
    "deep JSON": payload("proposed", '"candidate":{', f'"candidate":{"[" * 100_000}{{'),
    "half a surrogate": payload("proposed", '"note":"', '"note":"\\ud800'),
    "a status that is none": payload("evaluated", '"passed"', '"splendid"'),
    "another trial's request": payload("asked", '"number":3', '"number":4'),
    "a parent of the future": payload("asked", '"parents":[0]', '"parents":[77]'),
    "a parent below nothing": payload("asked", '"parents":[0]', '"parents":[-1]'),
    "a session of minus a year": payload("stopped", '"seconds":', '"seconds":-3e7,"x":'),
    "another field": payload("told", "null", '{"x": 1}'),
    "a name that leads elsewhere": head('"name":"double"', '"name":"../../double"'),
    "a name with a line break": head('"name":"double"', '"name":"dou\\nble"'),
    "a version that is code": head('"torch":"2.9.0"', '"torch":"2\\"\\"\\"\\nimport os"'),
    "a device that acts on a terminal": head('"device":"Fake GPU"', '"device":"Fake \\u001b[2J GPU"'),
    "a name with quotes": head('"name":"double"', '"name":"dou\\"\\"\\"ble"'),
    "a bound of nothing": head('"bound_us":50.0', '"bound_us":0.0'),
    "a bound below nothing": head('"bound_us":50.0', '"bound_us":-50.0'),
    "bytes of 400 digits": head('"bytes":32768', f'"bytes":{"9" * 400}'),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_journal_made_by_somebody_else_is_refused_in_one_line(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "run"
    shutil.copytree(sound, folder)
    shutil.copytree(sound, tmp_path / "runs" / "bystander")
    connection = sqlite3.connect(folder / NAME)
    FOREIGN[name](connection)
    connection.commit()
    connection.close()
    before = rows_of(folder)
    assert set(answers(folder, tmp_path).values()) == {None}
    compared = run("compare", str(folder), str(tmp_path / "runs" / "bystander"))
    assert (compared.exit_code, len(compared.stderr.splitlines())) == (2, 1)
    worker = FakeWorker()
    resumed = run("optimize", "--resume", str(folder), "--trials", "20", worker=worker)
    assert resumed.exit_code == 2
    assert isinstance(resumed.exception, SystemExit)
    assert worker.calls == []
    assert rows_of(folder) == before, "what is refused is left as it is"


def test_reading_has_a_limit(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "READING_S", -1.0)
    monkeypatch.setattr(database_module, "LOOK_EVERY", 1)
    with pytest.raises(RunFolderError, match="cannot be read within"):
        Journal.open(sound)
    monkeypatch.setattr(database_module, "READING_S", 60.0)
    monkeypatch.setattr(database_module, "MOST_BYTES", 1000)
    with pytest.raises(RunFolderError, match="a journal has at most 1000"):
        Journal.open(sound)
    monkeypatch.setattr(database_module, "MOST_BYTES", 10**9)
    monkeypatch.setattr(database_module, "LARGEST_BYTES", 20)
    with pytest.raises(RunFolderError, match="half-written"):
        Journal.open(sound)


def test_a_blob_whose_bits_flipped_is_not_shown(tmp_path: Path, sound: Path) -> None:
    shutil.copytree(sound, tmp_path / "run")
    connection = sqlite3.connect(tmp_path / "run" / NAME)
    connection.execute("UPDATE blobs SET bytes = CAST(replace(bytes, 'Idea', 'Ides') AS BLOB)")
    connection.commit()
    connection.close()
    with Journal.open(tmp_path / "run") as journal:
        hashes = [trial.proposal.reply for trial in journal.trials() if trial.proposal.reply is not None]
        assert hashes
        for sha in hashes:
            with pytest.raises(RunFolderError, match="is damaged"):
                journal.blob(sha)
