"""SIGTERM, SIGHUP and nobody who listens: a search ends in order before its proposals come, or goes on."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import searching
from command_line import PROBLEM, run
from kernelwright.journal import Abandoned, EventKind, Journal
from kernelwright.model import Operator
from samples import SOURCE

PROGRAM = Path(searching.__file__)
NEVER = math.inf
"""Takes the proposal under way, so a process that ends has not waited for it."""

WAIT_S = 600.0
"""A process that takes longer hangs, however busy the machine is."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("double", "triple"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "problem.py").write_text(PROBLEM)
        (tmp_path / name / "starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    return tmp_path


def started(
    seconds: float, first: int, *words: str, stderr: int = subprocess.PIPE, before: object = None
) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), str(seconds), str(first), *words]
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(PROGRAM.parent)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment, preexec_fn=before,
    )  # fmt: skip  # type: ignore[call-overload]


def until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if words in line:
            return
    raise AssertionError("".join(said))


OPTIONS = ("optimize", "double", "--out", "run", "--in-flight", "1", "--trials", "12")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_search_with_its_answer_and_abandons_what_is_under_way(number: signal.Signals) -> None:
    with started(NEVER, 6, *OPTIONS) as process:
        until(process, "proposal 6 under way")
        process.send_signal(number)
        out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 128 + number
    assert out == ""
    assert f"{number.name}: what was found so far is in run; go on: kernelwright optimize --resume run" in err
    assert "kernelwright report run" in err
    assert "Traceback" not in err
    kernel = Path("run/best_kernel.py").read_text()
    assert "NOT CONFIRMED" in kernel
    assert "not confirmed" in Path("run/report.txt").read_text()
    with Journal.open(Path("run")) as journal:
        events = journal.history()
        assert journal.sessions()[-1].reason == "interrupted"
    assert [event.payload.request for event in events if isinstance(event.payload, Abandoned)] == [6]
    lost = next(event.payload for event in events if isinstance(event.payload, Abandoned))
    assert (lost.usage.tokens, lost.usage.cost_usd) == (150, 0.01), "as the dearest answer so far"
    assert events[-1].kind is EventKind.STOPPED
    assert not list(Path("run").glob("journal.db-*"))

    assert run("report", "run").exit_code == 0
    assert "for abandoned replies: 100 tokens in, 50 out" in run("report", "run").stdout
    with started(0, 0, "optimize", "--resume", "run") as again:
        again.communicate(timeout=WAIT_S)
    assert again.returncode == 0
    with Journal.open(Path("run")) as journal:
        assert [trial.number for trial in journal.trials()] == list(range(12))
    assert "NOT CONFIRMED" not in Path("run/best_kernel.py").read_text()


def test_an_answer_that_comes_in_time_is_kept() -> None:
    with started(1.0, 6, *OPTIONS) as process:
        until(process, "proposal 6 under way")
        process.terminate()
        process.communicate(timeout=WAIT_S)
    assert process.returncode == 143
    with Journal.open(Path("run")) as journal:
        kinds = [event.kind for event in journal.history()]
    assert kinds[-3:] == [EventKind.ASKED, EventKind.PROPOSED, EventKind.STOPPED]
    assert EventKind.ABANDONED not in kinds


def test_several_signals_are_one() -> None:
    with started(NEVER, 6, *OPTIONS) as process:
        until(process, "proposal 6 under way")
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
            process.send_signal(number)
            time.sleep(0.05)
        _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode in (129, 143)
    assert "Traceback" not in err
    assert "NOT CONFIRMED" in Path("run/best_kernel.py").read_text()


def test_a_search_that_was_told_to_survive_its_terminal_does() -> None:
    """As nohup does."""
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    with started(0.2, 6, *OPTIONS, before=ignore) as process:
        until(process, "proposal 6 under way")
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=WAIT_S)
    assert process.returncode == 0


def test_what_was_cut_off_counts_against_the_budget_of_the_next_session() -> None:
    with started(NEVER, 4, *OPTIONS[:-2], "--tokens", "850") as process:
        until(process, "proposal 4 under way")
        process.terminate()
        process.communicate(timeout=WAIT_S)
    with started(0, 0, "optimize", "--resume", "run") as again:
        again.communicate(timeout=WAIT_S)
    with Journal.open(Path("run")) as journal:
        trials = journal.trials()
        lost = [event for event in journal.history() if event.kind is EventKind.ABANDONED]
    asked = sum(trial.request.operator is not Operator.SEED for trial in trials)
    assert (asked, len(lost)) == (4, 1), "850 tokens are five answers of 150, one of them the lost one"


def test_progress_that_nobody_reads_ends_nothing() -> None:
    with started(0, 99, *OPTIONS) as process:
        until(process, "trial 0")
        assert process.stderr is not None
        process.stderr.close()
        assert process.stdout is not None
        answer = process.stdout.read()
        process.stdout.close()
        assert process.wait(WAIT_S) == 0
        process.stderr = process.stdout = None
    assert "confirmed" in answer
    assert Path("run/best_kernel.py").is_file()


def test_a_pipe_that_takes_one_line_of_both_streams_ends_nothing() -> None:
    words = " ".join([sys.executable, str(PROGRAM), "0", "99", *OPTIONS])
    command = f"set -o pipefail; {words} 2>&1 | head -1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PROGRAM.parent)}
    )
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 1, "")
    assert Path("run/report.txt").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_a_stream_is_no_fault_for_progress_and_one_for_the_document() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with started(0, 99, *OPTIONS, "--json", stderr=full) as process:
        out, _ = process.communicate(timeout=WAIT_S)
    os.close(full)
    assert process.returncode == 0
    assert json.loads(out)["best"] is not None
    with open("/dev/full", "w") as nowhere:
        done = subprocess.run(
            [sys.executable, "-m", "kernelwright", "report", "run", "--format", "json"],
            stdout=nowhere, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


def test_a_document_that_nobody_reads_is_a_fault() -> None:
    assert run(*OPTIONS).exit_code == 0
    read, write = os.pipe()
    os.close(read)
    for words, status in ((("report", "run"), 0), (("report", "run", "--format", "json"), 2)):
        command = [sys.executable, "-m", "kernelwright", *words]
        done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
        assert done.returncode == status
        assert len(done.stderr.splitlines()) == (status == 2)
    os.close(write)


def test_a_run_s_folder_that_is_removed_is_said_once_and_the_best_kernel_is_saved_elsewhere() -> None:
    with started(0.5, 6, *OPTIONS) as process:
        until(process, "proposal 6 under way")
        shutil.rmtree("run")
        out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 2
    assert out == ""
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if line.startswith("error: ")]) == 1
    assert "journal.db was removed while the run was at work" in err
    saved = Path("run-best_kernel.py")
    assert f"saved as {saved.resolve()}" in err
    assert "NOT CONFIRMED" in saved.read_text() or "in the search" in saved.read_text()
    assert not Path("run").exists()


def test_searches_that_begin_in_one_second_all_run() -> None:
    results: list[int] = []

    def one() -> None:
        with started(0, 99, "optimize", "double", "--in-flight", "1", "--trials", "4") as process:
            process.communicate(timeout=WAIT_S)
        results.append(process.returncode)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0, 0, 0, 0]
    assert len(list(Path("runs").iterdir())) == 4
    assert run("runs").stdout.count("confirmed") == 4


def test_two_problems_in_one_folder_are_refused() -> None:
    with started(NEVER, 3, *OPTIONS) as process:
        until(process, "proposal 3 under way")
        other = run("optimize", "triple", "--out", "run", "--trials", "3")
        process.terminate()
        process.communicate(timeout=WAIT_S)
    assert other.exit_code == 2
    assert "already holds a run" in other.stderr
    assert [path.name for path in Path("run/problem").iterdir()] == ["double"]
    shutil.rmtree("run")
    Path("run/problem/double").mkdir(parents=True)
    shutil.copy("double/problem.py", "run/problem/double/problem.py")
    other = run("optimize", "triple", "--out", "run", "--trials", "3")
    assert "run holds problem/double/problem.py, which is not of triple" in other.stderr
    assert run("optimize", "double", "--out", "run", "--trials", "3").exit_code == 0, "its own, of a begun run"
