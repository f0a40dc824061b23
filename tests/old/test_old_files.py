"""Files that kernelwright wrote at commit 53e3f48 are still read, gone on with and rechecked.

tests/old/53e3f48 holds three runs on Triton's interpreter (one finished, one that waits for replies, one that was
killed), an exported package, a settings file and a bench of an H200. Never change them: a newer version brings files of
its own.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evaluated import StartedWorker
from kernelwright.cli.context import Parts
from kernelwright.cli.main import cli
from kernelwright.codec import decode, sha
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.settings import read_settings
from kernelwright.journal import Journal, database
from kernelwright.model import BenchReport
from kernelwright.report.bench import bench_text

OLD = Path(__file__).parent / "53e3f48"
RUNS = ("finished", "waiting", "interrupted")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy that may be written."""
    return Path(shutil.copytree(OLD, tmp_path / "old"))


@pytest.fixture(scope="module")
def worker(shared_worker: StartedWorker) -> Worker:
    return shared_worker()


def kernelwright(*words: str, worker: Worker | None = None) -> Result:
    parts = Parts(start_worker=lambda target: nullcontext(worker)) if worker else None
    return CliRunner().invoke(cli, words, obj=parts)


def good(result: Result) -> str:
    assert result.exit_code == 0, (result.exit_code, result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_a_run_is_reported_in_every_form(old: Path, run: str, form: str) -> None:
    said = good(kernelwright("report", str(old / run), "--format", form))
    assert "double" in said
    if form == "json":
        assert json.loads(said)["problem"] == "double"


@pytest.mark.parametrize(("run", "trials"), [("finished", 6), ("waiting", 5), ("interrupted", 3)])
def test_trials_are_listed_and_shown_whole(old: Path, run: str, trials: int) -> None:
    lines = good(kernelwright("show", str(old / run))).splitlines()
    assert sum(line.split()[0].isdigit() for line in lines if line.strip()) == trials
    whole = good(kernelwright("show", str(old / run), "1"))
    assert "passed" in whole
    assert "double_kernel" in whole


def test_the_folder_of_runs_tells_their_states(old: Path) -> None:
    states = {line.split()[0]: line for line in good(kernelwright("runs", str(old))).splitlines()[1:]}
    assert "no improvement" in states["finished"]
    assert "3 requests open" in states["waiting"]
    assert "cut off" in states["interrupted"]


def test_a_kernel_is_exported_again(old: Path, tmp_path: Path) -> None:
    good(kernelwright("export", str(old / "finished"), "--format", "op", "--out", str(tmp_path / "again")))
    assert (tmp_path / "again" / "fast_double" / "kernel.py").read_text() == (
        OLD / "package" / "fast_double" / "kernel.py"
    ).read_text()


def test_a_package_is_rechecked(old: Path, worker: Worker) -> None:
    said = good(kernelwright("recheck", str(old / "package"), worker=worker))
    assert "verified on interpreter: right" in said


def test_a_run_that_was_cut_off_goes_on_from_its_last_event(old: Path, worker: Worker) -> None:
    with Journal.open(old / "interrupted") as journal:
        before = journal.events()
    good(kernelwright("optimize", "--resume", str(old / "interrupted"), worker=worker))
    with Journal.open(old / "interrupted") as journal:
        assert journal.events()[: len(before)] == before
        assert len(journal.trials()) == 6
        assert journal.sessions()[-1].reason in ("finished", "trials")


def test_a_run_that_waited_takes_the_reply_to_an_old_prompt(old: Path, tmp_path: Path, worker: Worker) -> None:
    run = old / "waiting"
    starter = (run / "problem" / "double" / "starter.py").read_text()
    kernel = starter.replace("* 2 + 1", "+ 1 + tl.load(x_ptr + offsets, mask=mask)")
    reply = tmp_path / "reply.md"
    reply.write_text(f"```python\n{kernel}```\n")
    good(kernelwright("reply", str(run), "5", str(reply)))
    good(kernelwright("optimize", "--resume", str(run), worker=worker))
    with Journal.open(run) as journal:
        answered = {trial.number: trial.evaluation for trial in journal.trials()}
    assert 5 in answered
    assert answered[5] is not None
    assert answered[5].status.value == "passed", answered[5].reason


def test_a_settings_file_is_read(old: Path) -> None:
    settings = read_settings(old / "kernelwright.toml", lambda line: None).options
    assert (settings.trials, settings.in_flight, settings.strategy, settings.seed) == (6, 1, "greedy", 7)


def test_a_bench_of_an_h200_is_read_and_shown() -> None:
    report = decode((OLD / "bench.json").read_bytes(), BenchReport)
    said = bench_text(report)
    assert "2048x1048576_bf16" in said
    assert "952.6" in said or "952.7" in said


def test_another_schema_has_another_number_and_brings_a_migration() -> None:
    """Change this line together with `SCHEMA_VERSION`, and add what turns a journal of the version before into one of
    the new version, with a journal of each version under tests/old."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(database._script(True))
    schema = sorted(str(row) for row in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))
    connection.close()
    assert (database.SCHEMA_VERSION, sha("\n".join(schema))[:16]) == (1, "b5280286f1a21317")
