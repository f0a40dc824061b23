"""Workers behind ssh, played by a program that reads its words again as ssh and the host's shell do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kernelwright.errors import MachineError, ProblemError, Unreachable, WorkerError, WorkerLost
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.places import lanes_at, start_lanes
from kernelwright.model import Candidate, Status
from kernelwright.worker.supervisor import place_files
from on_device import KERNEL, doubling

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

SSH = """#!{python}
# Leaves its own options out, joins the other words by spaces and has a shell read them, as ssh does.
import os, sys
words = sys.argv[sys.argv.index("--") + 1:]
assert words[0] == "gpubox", words
os.chdir("/")
os.execv("/bin/sh", ["sh", "-c", " ".join(words[1:])])
"""


@pytest.fixture(autouse=True)
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Python of the host, in a folder that a shell takes for several words. `ssh` is the program above."""
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin" / "ssh"
    ssh.write_text(SSH.format(python=sys.executable))
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    found = tmp_path / "it's a $HOST" / "python"
    found.parent.mkdir()
    found.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    found.chmod(0o755)
    return found


def folder_with(folder: Path, source: str) -> Path:
    folder.mkdir()
    (folder / "problem.py").write_text(source)
    return folder


def test_a_problem_and_its_candidates_are_judged_on_a_host_that_sees_another_disk(python: Path, tmp_path: Path) -> None:
    problem = folder_with(tmp_path / "double", doubling(1 << 16))
    with start_lanes(lanes_at(f"ssh:gpubox?python={python}")) as worker:
        assert worker.load(str(problem)).name == "double"
        (problem / "problem.py").unlink()
        assert worker.evaluate(Candidate(source=KERNEL), "search").status is Status.PASSED
        assert worker.evaluate(Candidate(source=KERNEL.replace("x * 2", "x * 3")), "search").status is Status.WRONG
        broken = folder_with(tmp_path / "broken", "import no_such_module\n")
        with pytest.raises(ProblemError) as error:
            worker.load(str(broken))
        assert str(tmp_path / "broken") not in str(error.value), "it is read where it was sent to"
        with pytest.raises(ProblemError, match="no such problem"):
            worker.load(str(tmp_path / "missing"))


def test_a_key_of_a_provider_travels_to_no_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "stays here")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/needed/to/get/there")
    seen = tmp_path / "seen"
    with pytest.raises(MachineError):
        start_lanes(lanes_at(f"argv:sh -c 'env > {seen}; exit 1'"))
    assert "SSH_AUTH_SOCK=/needed/to/get/there" in seen.read_text()
    assert "stays here" not in seen.read_text()


@pytest.mark.parametrize("python_there", ["/bin/false", "/no/such/python"])
def test_a_host_without_kernelwright_is_told_what_to_install(python_there: str) -> None:
    with pytest.raises(MachineError) as error:
        start_lanes(lanes_at(f"ssh:gpubox?python={python_there}"))
    assert "ssh ended with status" in str(error.value)
    assert "pip install 'kernelwright[gpu]==" in (error.value.hint or "")


def test_a_host_that_ssh_does_not_reach_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "bin" / "ssh").write_text("#!/bin/sh\nexit 255\n")
    with pytest.raises(Unreachable, match="ssh ended with status 255"):
        start_lanes(lanes_at("ssh:gpubox"))


def test_a_worker_that_was_asked_to_end_before_its_hello_may_be_started_again() -> None:
    with pytest.raises(WorkerLost) as error:
        start_worker(["sh", "-c", "exit 143"])
    assert error.value.from_outside


def test_a_gpu_that_the_host_does_not_have_is_said() -> None:
    with pytest.raises(MachineError, match="there is no GPU 99: CUDA shows"):
        start_worker([sys.executable, "-m", "kernelwright.worker", "--gpu", "99"])


def test_files_that_are_sent_stay_in_their_folder(tmp_path: Path) -> None:
    folder = place_files(tmp_path, {"double/problem.py": b"x = 1\n", "double/example.pt": b"\x00\xff"})
    assert (folder / "double" / "example.pt").read_bytes() == b"\x00\xff"
    assert place_files(tmp_path, {"double/problem.py": b"x = 1\n", "double/example.pt": b"\x00\xff"}) == folder
    assert place_files(tmp_path, {"double/problem.py": b"x = 2\n"}) != folder
    for name in ("../problem.py", "/etc/problem.py"):
        with pytest.raises(WorkerError, match="leads out of its folder"):
            place_files(tmp_path, {name: b""})
