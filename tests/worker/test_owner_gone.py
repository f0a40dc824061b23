"""A supervisor whose owner is gone ends at once with all its processes, whatever is under way, and leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelwright.model import PROTOCOL
from kernelwright.worker.processes.scratch import LOCK, PREFIX, make_scratch, remove, remove_stale
from on_device import left_in

ENDLESS = "import time\ntime.sleep(3600)\n"
"""What a test waits for takes seconds, and what it must not wait for an hour: no load of the machine confuses them."""
LIMIT_S = 600.0


class Supervisor:
    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        scratch.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kernelwright.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(scratch)}, text=True,
        )  # fmt: skip

    def ready(self) -> None:
        assert self.process.stdout is not None
        assert json.loads(self.process.stdout.readline())["value"]["protocol"] == PROTOCOL

    def hang(self, folder: Path) -> None:
        """Have it do what takes an hour, and wait until it does."""
        assert self.process.stdin is not None
        (folder / "endless.py").write_text(f"open({str(folder / 'begun')!r}, 'w').close()\n" + ENDLESS)
        asked = {"id": 1, "verb": "load", "path": str(folder / "endless.py")}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        until((folder / "begun").exists)

    def processes(self) -> list[int]:
        """Everything that has inherited its folder for temporary files and is no zombie."""
        mark, found = f"TMPDIR={self.scratch}".encode(), []
        for entry in filter(str.isdecimal, os.listdir("/proc")):
            try:
                if mark in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
            except OSError:
                continue
        return found


def until(true: Callable[[], bool]) -> None:
    end_s = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end_s, "it does not happen"
        time.sleep(0.02)


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    made = Supervisor(tmp_path / "scratch")
    yield made
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)
    made.process.wait()
    for stream in (made.process.stdin, made.process.stdout):
        assert stream is not None
        stream.close()


def test_an_owner_that_is_gone_ends_a_request_under_way_and_every_process(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.ready()
    supervisor.hang(tmp_path)
    assert len(supervisor.processes()) > 2, "supervisor, fork servers and judge"
    assert supervisor.process.stdin is not None
    supervisor.process.stdin.close()
    supervisor.process.wait(LIMIT_S)
    until(lambda: not supervisor.processes())
    assert left_in(supervisor.scratch) == []


def test_an_owner_that_is_gone_before_the_imports_are_over_ends_them(supervisor: Supervisor) -> None:
    until(lambda: len(supervisor.processes()) > 1)
    assert supervisor.process.stdin is not None
    supervisor.process.stdin.close()
    supervisor.process.wait(LIMIT_S)
    until(lambda: not supervisor.processes())
    assert left_in(supervisor.scratch) == []


def test_a_signal_to_end_ends_a_request_under_way_too(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.ready()
    supervisor.hang(tmp_path)
    supervisor.process.terminate()
    supervisor.process.wait(LIMIT_S)
    until(lambda: not supervisor.processes())
    assert left_in(supervisor.scratch) == []


def test_what_a_killed_supervisor_leaves_is_removed_by_the_next(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.ready()
    supervisor.process.kill()
    supervisor.process.wait(LIMIT_S)
    until(lambda: not supervisor.processes())
    (left,) = left_in(supervisor.scratch)
    second = Supervisor(supervisor.scratch)
    try:
        second.ready()
        assert not left.exists()
        assert len(list(second.scratch.iterdir())) == 1
    finally:
        assert second.process.stdin is not None
        assert second.process.stdout is not None
        second.process.stdin.close()
        second.process.wait(LIMIT_S)
        second.process.stdout.close()


INTERRUPTED = """
import os, signal, sys
from kernelwright.worker import supervisor

supervisor.supervise = lambda *arguments: 2
supervisor.kill_all = lambda: os.kill(os.getpid(), signal.SIGTERM)
sys.argv = ["supervisor"]
supervisor.main()
"""


def ended(home: Path, code: str) -> int:
    """The exit status of a program whose standard input stays open."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, env={**os.environ, "TMPDIR": str(home)}
    ) as process:
        try:
            return process.wait(LIMIT_S)
        finally:
            process.kill()


def test_a_signal_that_finds_it_ending_changes_nothing(home: Path) -> None:
    assert ended(home, INTERRUPTED) == 2
    assert left_in(home) == []


def test_it_ends_though_its_scratch_cannot_be_removed(home: Path) -> None:
    code = INTERRUPTED.replace("import os,", "import os, shutil,")
    code = code.replace("os.kill(os.getpid(), signal.SIGTERM)", f"shutil.rmtree({str(home)!r})")
    assert ended(home, code) == 2


def test_files_that_others_remove_meanwhile_are_no_hindrance(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waits for a compiler removes its log when the compiler is killed."""
    folder, unlink = make_scratch(), Path.unlink
    for number in range(3):
        (folder / f"compiler-{number}.log").touch()

    def late(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".log":
            os.unlink(path)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", late)
    assert remove(folder)
    assert not folder.exists()


# --- what is taken for stale -------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_in_use_stays(home: Path) -> None:
    mine = make_scratch()
    (mine / "kept").touch()
    code = (
        f"from kernelwright.worker.processes import scratch; print(scratch.remove_stale(scratch.Path({str(mine)!r})))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "False\n"
    assert (mine / "kept").exists()


def test_only_a_folder_with_a_lock_of_ours_is_removed(home: Path) -> None:
    precious = home / "precious"
    precious.mkdir()
    (precious / LOCK).touch()
    without = home / f"{PREFIX}export"
    without.mkdir()
    (home / f"{PREFIX}link").symlink_to(precious)
    (home / f"{PREFIX}file").touch()
    linked = home / f"{PREFIX}lock-is-a-link"
    linked.mkdir()
    (linked / LOCK).symlink_to(precious / LOCK)
    pipe = home / f"{PREFIX}lock-is-a-pipe"
    pipe.mkdir()
    os.mkfifo(pipe / LOCK)
    dead = home / f"{PREFIX}dead"
    (dead / "deep" / "deeper").mkdir(parents=True)
    (dead / "deep" / "link").symlink_to(precious)
    (dead / "link").symlink_to(precious)
    (dead / LOCK).touch()
    mine = make_scratch()
    assert not dead.exists()
    assert {path.name for path in home.iterdir()} == {
        "precious", f"{PREFIX}export", f"{PREFIX}link", f"{PREFIX}file", f"{PREFIX}lock-is-a-link",
        f"{PREFIX}lock-is-a-pipe", mine.name,
    }  # fmt: skip
    assert (precious / LOCK).exists()
    assert not remove_stale(home / "nowhere")
