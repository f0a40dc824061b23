"""The main job with nothing faked: a new problem, a real worker, a kernel at the end that verifies.

On a machine without a GPU this is Triton's interpreter and compiler. The rule: only what a user can see is asserted.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelwright.journal import EventKind, Journal

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")


TRIALS = 3


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "kernelwright", *words]


def kernelwright(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(command(*words), cwd=folder, capture_output=True, text=True, check=False, env=environment)


def search(run: Path) -> list[tuple[EventKind, int | None, Any]]:
    """What was asked and proposed, and how each trial ended, in order; not how long anything took."""
    found = []
    with Journal.open(run) as journal:
        for event in journal.events():
            if event.kind in (EventKind.ASKED, EventKind.PROPOSED, EventKind.TOLD):
                found.append((event.kind, event.number, event.payload))
            elif event.kind is EventKind.EVALUATED:
                found.append((event.kind, event.number, event.payload.status))  # type: ignore[union-attr]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the new problem `probe`."""
    made = tmp_path_factory.mktemp("main_job")
    assert kernelwright(made, "new", "probe").returncode == 0
    return made


@pytest.fixture(scope="module")
def done(folder: Path) -> subprocess.CompletedProcess[str]:
    """A run from beginning to end, in `folder`/run."""
    words = ["optimize", "probe", "--trials", str(TRIALS), "--in-flight", "1", "--out", "run", "--json"]
    return kernelwright(folder, *words)


def test_from_a_new_problem_to_a_kernel_that_stands(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials_by_status"] == {"passed": TRIALS}
    assert document["best"]["verified_on"] in ("device", "interpreter")
    assert (document["best"]["timing_kind"] == "estimate") == (document["environment"]["device"] is None)
    said = done.stderr.splitlines()
    assert said.index("run folder: run") < said.index("search starts; budget left: 3 of 3 trials")

    verified = kernelwright(folder, "verify", "probe", "run/best_kernel.py", "--json")
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["status"] == "passed"


@pytest.mark.usefixtures("done")
def test_a_run_killed_and_copied_elsewhere_resumes_to_the_same_search(folder: Path) -> None:
    """SIGKILL in the middle of trial 1, with a real worker: nothing is lost, and nothing done twice.

    Estimates are the same every time, so without a GPU the whole search is that of the run which nobody killed.
    """
    words = ["optimize", "probe", "--trials", str(TRIALS), "--in-flight", "1", "--out", "killed"]
    with subprocess.Popen(command(*words), cwd=folder, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("trial 1 proposed"):
                break
        os.kill(running.pid, signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
    before = search(folder / "killed")
    assert before[-1][:2] == (EventKind.PROPOSED, 1)

    shutil.copytree(folder / "killed", folder / "elsewhere" / "copy")
    resumed = kernelwright(folder / "elsewhere", "optimize", "--resume", "copy")
    assert resumed.returncode == 0, resumed.stderr
    after = search(folder / "elsewhere" / "copy")
    assert after[: len(before)] == before
    assert [entry[:2] for entry in after] == [entry[:2] for entry in search(folder / "run")]
    with Journal.open(folder / "run") as journal:
        if journal.info.environment.device is None:
            assert after == search(folder / "run")
    assert "trial 0" not in resumed.stderr, "the starter is not evaluated again"
