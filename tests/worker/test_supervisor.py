"""The supervisor as a process: however it ends, nothing of it stays behind."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.errors import ConfigError, MachineError
from kernelwright.evaluator.client import start_worker
from kernelwright.worker import gpus
from on_device import left_in

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a worker that is started now keeps its scratch."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_worker_that_cannot_start_leaves_nothing_behind(temporary: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown target 'sm_999'|target sm_999 was asked for, the GPU here is"):
        start_worker(target="sm_999")
    assert left_in(temporary) == []


@pytest.mark.parametrize("program", ["exit 1", "echo no JSON", "exec sleep 60"])
def test_gpus_that_cannot_be_listed_are_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(gpus, "LOOK_S", 0.5 if "sleep" in program else 60.0)
    with pytest.raises(MachineError, match="the GPUs of this machine cannot be listed"):
        gpus.uuid_of(0)


def test_a_worker_that_was_closed_leaves_nothing_behind(temporary: Path) -> None:
    with start_worker() as worker:
        worker.environment()
        assert list(temporary.iterdir()) != []
    assert left_in(temporary) == []


PATIENT = """
from kernelwright import interruption
from kernelwright.cli.main import main

interruption.GRACE_S = 300.0
main()
"""
"""The command line, on a machine of whatever load: it is not ended from within before it has ended in order."""


def processes_with(folder: Path) -> list[int]:
    """Those whose environment names `folder`."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile, or is another user's
            if str(folder).encode() in (one / "environ").read_bytes():
                found.append(int(one.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_worker_starts_ends_all_of_it_at_once_and_prints_no_more(
    temporary: Path, number: signal.Signals
) -> None:
    started = subprocess.Popen(
        [sys.executable, "-c", PATIENT, "doctor"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=default_interrupt,
    )  # fmt: skip
    while not list(temporary.glob("*/compiler.log")):  # the process that imports torch is there
        assert started.poll() is None
        time.sleep(0.01)
    assert len(processes_with(temporary)) >= 2
    started.send_signal(number)
    printed, _ = started.communicate(timeout=600)  # until the last process that could print has ended
    assert (started.returncode, printed) == (128 + number, "interrupted\n")
    assert processes_with(temporary) == []
    assert left_in(temporary) == []


def default_interrupt() -> None:
    """As at a terminal: a program that is started in the background, as CI may be, has SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_worker_whose_coordinator_was_killed_while_it_started_prints_nothing(temporary: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "kernelwright.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stdout is not None
    started.stdout.close()
    _, printed = started.communicate(timeout=600)
    assert (started.returncode, printed) == (0, "")
    assert left_in(temporary) == []
