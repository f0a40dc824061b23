"""Links in a run's folder from elsewhere: whatever a run writes, nothing outside of the folder is touched."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import PROBLEM, run
from fakes import FakeWorker
from kernelwright.journal import Journal
from kernelwright.model import Budget
from samples import SOURCE

WORDS = ("--in-flight", "1", "--trials", "6", "--option", "tuning=1")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    Path("outside").mkdir()
    Path("outside/precious").write_text("mine")
    return tmp_path


def whole(home: Path) -> Path:
    """A run with everything that a run writes: prompts, a control arm, pictures."""
    done = run("optimize", "double", "--out", "run", *WORDS, "--proposer", "mailbox", "--control", "random")
    assert done.exit_code == 0, done.stderr
    return home / "run"


def places(folder: Path) -> Iterator[str]:
    """Every file and folder in it, and the files that SQLite and a pause make for a while."""
    for path in sorted(folder.rglob("*")):
        yield str(path.relative_to(folder))
    yield from (
        "journal.db-wal",
        "journal.db-shm",
        "journal.db-journal",
        "paused",
        f".report.txt.{os.getpid()}-{threading.get_ident()}.part",
        "trace/round_07",
    )
    yield from ("mailbox/001.reply.md", "mailbox/001.reply.py", "best_kernel.py")


def untouched(home: Path) -> bool:
    return {path.name: path.read_text() for path in (home / "outside").iterdir()} == {"precious": "mine"}


def test_a_link_in_any_place_that_a_run_writes_leads_nowhere(home: Path) -> None:
    sound = whole(home)
    targets = {"file": home / "outside" / "precious", "dangling": home / "outside" / "new", "folder": home / "outside"}
    names = list(places(sound))
    assert len(names) > 30
    answer = home / "answer.py"
    answer.write_text(SOURCE.replace("BLOCK=1024", "BLOCK=256"))
    for index, name in enumerate(names):
        kind = list(targets)[index % 3]
        folder = home / "planted"
        shutil.copytree(sound, folder)
        place = folder / name
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(targets[kind])
        worker = FakeWorker()
        results = [
            run("optimize", "--resume", str(folder), "--trials", "9", worker=worker),
            run("reply", str(folder), "1", str(answer)),
            run("pause", str(folder)), run("resume", str(folder)), run("stop", str(folder)),
            run("report", str(folder)), run("show", str(folder)), run("runs", str(home)),
        ]  # fmt: skip
        assert untouched(home), (name, kind)
        assert results[0].exit_code == 2, (name, kind, results[0].output)
        assert worker.calls == []
        for result in results:
            assert result.exception is None or isinstance(result.exception, SystemExit), (name, result.exception)
        place.unlink(missing_ok=True) if place.is_symlink() else None
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["trace", "plots", "report.txt", "report.html", "best_kernel.py", "EVOLUTION_LOG.md"])
def test_a_link_put_there_while_the_search_is_at_work_leads_nowhere_either(home: Path, name: str) -> None:
    """After the links were looked for."""

    class Planting(FakeWorker):
        def qualify(self, every: bool = False):  # type: ignore[no-untyped-def]
            return super().qualify(every)

        def evaluate(self, candidate, purpose, incumbent=None):  # type: ignore[no-untyped-def]
            place = home / "run" / name
            if not place.is_symlink() and not place.exists():
                place.symlink_to(home / "outside" if "." not in name else home / "outside" / "precious")
            return super().evaluate(candidate, purpose)

    done = run("optimize", "double", "--out", "run", *WORDS, worker=Planting())
    assert untouched(home)
    assert isinstance(done.exception, SystemExit | None)
    if "." in name:
        assert done.exit_code == 0
        assert not (home / "run" / name).is_symlink()
    else:
        assert done.exit_code == 2
        assert f"{Path('run') / name} is a link" in done.stderr
        assert (home / "run" / "report.txt").is_file(), "the answer comes first"


def test_a_new_run_follows_no_link_in_a_folder_that_it_is_given(home: Path) -> None:
    for name in ("problem", "problem/double", "problem/double/problem.py", "journal.lock", "journal.db"):
        place = home / "given" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(home / "outside" / ("new" if name.endswith((".py", ".lock", ".db")) else ""))
        done = run("optimize", "double", "--out", "given", *WORDS)
        assert untouched(home), name
        assert done.exit_code == (0 if name.endswith(".py") else 2), (name, done.output)
        shutil.rmtree(home / "given")


def test_a_journal_is_no_link_no_pipe_and_no_folder(home: Path) -> None:
    sound = whole(home)
    for name in ("journal.db", "journal.db-wal", "journal.db-shm"):
        for make in (os.mkfifo, os.mkdir):
            folder = home / "odd"
            shutil.copytree(sound, folder)
            (folder / name).unlink(missing_ok=True)
            make(folder / name)
            assert run("report", str(folder)).exit_code == 2
            shutil.rmtree(folder)
    with Journal.open(sound, writable=True) as journal:
        journal.append_started(Budget())
