"""A real search in a process of its own, watched, paused, let go on and stopped from another: nothing is lost.

Worker, proposer and problem are the real ones, on Triton's interpreter where there is no GPU. The rule: only what a
user can see is waited for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from command_line import fault, run
from kernelwright.journal import EventKind, Journal

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")


@contextmanager
def started(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command at work; its standard error comes after its standard output, line by line."""
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "kernelwright", *words]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        yield process
        process.kill()


def line_of(process: subprocess.Popen[str], words: str) -> str:
    """The next line that holds `words`."""
    assert process.stdout is not None
    before = []
    for line in process.stdout:
        if words in line:
            return line.rstrip()
        before.append(line)
    raise AssertionError(f"{words!r} was not said:\n{''.join(before)}")


def search(folder: Path) -> list[tuple[EventKind, int | None, Any]]:
    """What was asked and proposed, and how each trial ended, in order."""
    kinds = (EventKind.ASKED, EventKind.PROPOSED, EventKind.TOLD)
    with Journal.open(folder) as journal:
        return [(event.kind, event.number, event.payload) for event in journal.events() if event.kind in kinds]


def test_a_run_is_watched_paused_let_go_on_stopped_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "probe").exit_code == 0
    words = ["optimize", "probe", "--in-flight", "1", "--trials"]
    with started(tmp_path, *words, "1000", "--out", "one") as optimize:
        line_of(optimize, "trial 0 evaluation: passed")
        with started(tmp_path, "watch", "one") as watch:
            url = line_of(watch, "watching one: ").rpartition(" ")[2]
            with urllib.request.urlopen(url) as answer:
                assert "probe" in answer.read().decode()

            assert "pauses when what is under way is finished" in run("pause", "one").stdout
            line_of(optimize, "search pauses")
            paused = search(tmp_path / "one")
            assert [entry[1] for entry in paused if entry[0] is EventKind.ASKED] == [
                entry[1] for entry in paused if entry[0] is EventKind.TOLD
            ], "everything asked came to its end"
            with urllib.request.urlopen(url) as answer:
                assert "paused: nothing, until `kernelwright resume`" in answer.read().decode()

            assert run("resume", "one").stdout == "one goes on\n"
            line_of(optimize, "asked: ")
            assert run("resume", "one").stdout == "one was not paused\n"

        assert "one stopped; go on: kernelwright optimize --resume one" in run("stop", "one").stdout
        line_of(optimize, "  kernelwright optimize --resume one")
        assert optimize.wait() == 130
    stopped = search(tmp_path / "one")
    assert stopped[: len(paused)] == paused
    assert Path("one/report.html").is_file()
    with Journal.open(Path("one")) as journal:
        assert [session.reason for session in journal.sessions()] == ["paused", "interrupted"]
    for verb in ("pause", "resume", "stop"):
        assert "no search is at work in one" in fault(run(verb, "one"))

    trials = str(len({number for _, number, _ in stopped}) + 1)
    with started(tmp_path, "optimize", "--resume", "one", "--trials", trials) as again:
        line_of(again, "one/best_kernel.py")
        assert again.wait() == 0
    assert search(tmp_path / "one")[: len(stopped)] == stopped
