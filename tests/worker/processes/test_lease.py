"""The lease of a GPU: threads take turns, processes take turns, and whoever holds it may take it again."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kernelwright.worker.processes.lease import Lease

OTHER = """
import sys
from pathlib import Path
from kernelwright.worker.processes.lease import Lease

lease = Lease("gpu", Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
with lease:
    print("mine", flush=True)
"""


def other(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_another_process_waits_until_the_outermost_holder_lets_go(tmp_path: Path) -> None:
    lease = Lease("gpu", tmp_path)
    with other(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        got: list[str] = []
        reader = threading.Thread(target=lambda: got.append(process.stdout.readline()))
        with lease:
            with lease:
                process.stdin.write("go\n")
                process.stdin.flush()
                reader.start()
            reader.join(0.5)
            assert got == [], "the inner release let the other process in"
        reader.join(600)
        assert got == ["mine\n"]
        process.stdin.close()


def test_a_wait_for_another_program_is_said_and_a_free_gpu_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Lease("gpu", tmp_path, said_after_s=0.0):
        assert caplog.messages == []
    with (tmp_path / "kernelwright-gpu.lock").open() as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        waiting = threading.Thread(target=lambda: Lease("gpu", tmp_path, said_after_s=0.0).acquire())
        waiting.start()
        while not caplog.messages:
            time.sleep(0.01)
        assert waiting.is_alive()
    waiting.join(600)
    assert not waiting.is_alive()
    (message,) = caplog.messages
    assert message.startswith("another program uses the GPU")
    assert str(tmp_path / "kernelwright-gpu.lock") in message


def test_a_wait_that_fails_leaves_the_turn_to_other_threads(tmp_path: Path) -> None:
    lease, tried = Lease("gpu", tmp_path), []
    assert lease._file is not None
    os.close(lease._file)  # so that every wait fails

    def take() -> None:
        with pytest.raises(OSError, match="Bad file descriptor"):
            lease.acquire()
        tried.append(True)

    take()
    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(600)
    assert tried == [True, True]


def test_leases_of_two_gpus_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with Lease("another gpu", tmp_path), other(tmp_path) as process:
        said, _ = process.communicate("go\n", timeout=600)
        assert said == "mine\n"


def test_threads_of_one_process_take_turns_without_a_gpu(tmp_path: Path) -> None:
    lease, held, most = Lease(None), 0, 0

    def work() -> None:
        nonlocal held, most
        for _ in range(200):
            with lease:
                held += 1
                most = max(most, held)
                held -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_folder_that_cannot_be_written_leaves_the_turns_within_the_process(tmp_path: Path) -> None:
    with Lease("gpu", tmp_path / "absent") as lease, lease:
        assert list(tmp_path.iterdir()) == []


def test_a_link_where_the_lock_would_be_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kernelwright-gpu.lock").symlink_to(tmp_path / "elsewhere")
    with Lease("gpu", tmp_path):
        assert not (tmp_path / "elsewhere").exists()


def test_the_lock_of_another_user_needs_only_to_be_read(tmp_path: Path) -> None:
    lock = tmp_path / "kernelwright-gpu.lock"
    lock.touch(mode=0o444)
    tmp_path.chmod(0o555)
    try:
        with Lease("gpu", tmp_path), lock.open() as another, pytest.raises(BlockingIOError):
            fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        tmp_path.chmod(0o755)


def test_what_is_done_when_a_hold_begins_is_done_once_for_it(tmp_path: Path) -> None:
    begun = []
    lease = Lease("gpu", tmp_path, begins=lambda: begun.append(lease.is_nested))
    for holds in (1, 2):
        with lease:
            with lease:
                assert lease.is_nested
            assert not lease.is_nested
        assert begun == [False] * holds


def test_where_a_hold_cannot_begin_nothing_is_held(tmp_path: Path) -> None:
    def fails() -> None:
        raise RuntimeError

    lease = Lease("gpu", tmp_path, begins=fails)
    with pytest.raises(RuntimeError):
        lease.acquire()
    with other(tmp_path) as process:
        assert process.communicate("\n")[0] == "mine\n"


def is_next_taken(folder: Path) -> bool:
    """Whether somebody is the next in line for the lease."""
    with (folder / "kernelwright-gpu.next").open() as line:
        try:
            fcntl.flock(line, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_who_waits_has_the_gpu_before_who_lets_it_go_and_wants_it_again(tmp_path: Path) -> None:
    """A search holds the lease for each evaluation and wants it again at once; a run beside it must not starve."""
    busy, waiting, turns = Lease("gpu", tmp_path), Lease("gpu", tmp_path), []
    served, waits, lock = threading.Event(), threading.Event(), waiting._lock

    def locking(file: int, how: int) -> None:
        if how == fcntl.LOCK_EX:
            waits.set()
        lock(file, how)

    waiting._lock = locking  # type: ignore[method-assign]

    def wait() -> None:
        with waiting:
            served.set()

    thread = threading.Thread(target=wait)
    for turn in range(100):
        with busy:
            if turn == 0:
                thread.start()
                assert waits.wait(600)
                while not is_next_taken(tmp_path):
                    time.sleep(0.01)
            if served.is_set():
                break
            turns.append(turn)
    thread.join(600)
    assert turns == [0]
