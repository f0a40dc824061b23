"""Children of a real fork server: whatever one does, the supervisor gets an answer or how it ended, in time."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernelwright.errors import MachineError, WorkerError
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.processes import children, forkserver
from kernelwright.worker.processes.channel import Channel
from kernelwright.worker.processes.children import Child, ChildDied, ChildTimeout, ForkServer, ServerEnded
from kernelwright.worker.processes.commands import Options
from kernelwright.worker.processes.processes import read_machine
from kernelwright.worker.record.messages import RecordCases

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads /proc to see what is left behind")

PLANTED = "sk-planted-0123456789"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """A fork server started by a process that has a key in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", PLANTED)
        patch.setenv("ANTHROPIC_API_KEY", PLANTED)
        made = ForkServer(tmp_path_factory.mktemp("server"))
        made.ready()
    yield made
    made.close()


@pytest.mark.parametrize(("role", "imported"), [("compiler", False), ("generator", True)])
def test_what_a_role_needs_late_is_imported_before_its_first_child(
    monkeypatch: pytest.MonkeyPatch, role: str, imported: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(forkserver.importlib, "import_module", asked.append)
    monkeypatch.delitem(sys.modules, forkserver.LATE["generator"][0], raising=False)
    monkeypatch.setattr(tempfile, "tempdir", "/elsewhere")
    forkserver.import_late(role)
    assert (tempfile.tempdir is None) is imported, "a child finds its own"
    assert asked == [*forkserver.LATE["generator"]] * imported


def test_a_failed_late_import_is_left_to_the_child(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setitem(forkserver.LATE, "generator", ("kernelwright.absent",))
    forkserver.import_late("generator")
    assert "No module named 'kernelwright.absent'" in capfd.readouterr().err


Run = Callable[..., Child]


@pytest.fixture
def recorder(server: ForkServer, tmp_path: Path) -> Iterator[Callable[[], Child]]:
    """A recorder that is ready for a job; killed after the test."""
    made: list[Child] = []

    def ready() -> Child:
        child = server.spawn("recorder", log=True)
        made.append(child)
        child.channel.receive(600.0)
        return child

    yield ready
    for child in made:
        if child.alive:
            child.kill()


def job(source: str) -> RecordCases:
    """What a recorder is asked: to run this as host code, below the static check."""
    case = CaseShape(name="c", inputs=(), input_names=(), parameters={}, init=(), init_names=())
    return RecordCases(source=source, autotune={}, target="sm_90", cases=(case,))


def descendants(pid: int) -> list[int]:
    """Living processes below `pid`."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def gone_in_time(pids: list[int], seconds: float = 600.0) -> bool:
    deadline = time.monotonic() + seconds
    while any(is_running(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_server_says_the_versions_it_imported(server: ForkServer) -> None:
    assert server.ready()["torch"].count(".") == 2
    assert "triton" in server.ready()


def test_a_child_answers_and_lives_until_it_is_killed(recorder: Callable[[], Child], server: ForkServer) -> None:
    child = recorder()
    below = descendants(server.process.pid)
    assert child.pid in below
    answer = child.ask(job("x = 1"), 600.0)
    assert answer["recordings"][0]["status"] == "rejected"
    child.kill()
    assert gone_in_time(below)
    assert child.kill() == 0, "killing twice is harmless"


def test_a_child_that_hangs_is_killed_at_its_deadline(recorder: Callable[[], Child], server: ForkServer) -> None:
    child = recorder()
    below = descendants(server.process.pid)
    with pytest.raises(ChildTimeout, match=r"recorder gave no answer in 0\.5 s"):
        child.ask(job("while True: pass"), 0.5)
    assert not child.alive
    assert gone_in_time(below)


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("import ctypes\nctypes.string_at(0)", "was killed by SIGSEGV"),
        ("import os\nos._exit(3)", "ended with exit status 3"),
        ("import os\nos._exit(0)", "ended with exit status 0"),
    ],
)
def test_how_a_child_ended_is_told(recorder: Callable[[], Child], source: str, how: str) -> None:
    with pytest.raises(ChildDied) as error:
        recorder().ask(job(source), 600.0)
    assert error.value.how == how


def test_the_server_goes_on_after_every_death(recorder: Callable[[], Child]) -> None:
    for _ in range(3):
        with pytest.raises(ChildDied):
            recorder().ask(job("import os\nos._exit(1)"), 600.0)
    assert recorder().ask(job("x = 1"), 600.0)["autotune"] == {}


def test_what_a_child_prints_is_log_and_no_answer(recorder: Callable[[], Child]) -> None:
    child = recorder()
    source = 'print(\'{"recordings": [], "autotune": {}}\')\nimport sys\nprint("to stderr", file=sys.stderr)'
    answer = child.ask(job(source), 600.0)
    assert len(answer["recordings"]) == 1
    assert '{"recordings": [], "autotune": {}}' in child.printed()
    assert "to stderr" in child.printed()


def test_a_flood_of_output_is_cut(recorder: Callable[[], Child]) -> None:
    child = recorder()
    answer = child.ask(job("for _ in range(200): print('x' * 1_000_000, flush=True)"), 60.0)
    assert len(answer["recordings"]) == 1
    assert len(child.printed()) <= 4000
    assert child.log is not None
    assert child.log.stat().st_size <= 64 << 20


def test_an_answer_written_by_host_code_is_read_as_its_own(recorder: Callable[[], Child]) -> None:
    """It can find the socket; what it says there is checked by `recording`, and what it breaks off is a death."""
    forged = (
        "import os, struct\n"
        "data = b'[1, 2, 3]'\n"
        "for fd in range(3, 256):\n"
        "    try:\n        os.write(fd, struct.pack('!I', len(data)) + data)\n"
        "    except OSError:\n        pass\n"
        "os._exit(0)"
    )
    with pytest.raises(ChildDied):
        recorder().ask(job(forged), 600.0)


@pytest.mark.parametrize("data", ["b'x' * 50", "struct.pack('!I', 2**31)", "struct.pack('!I', 5) + b'nope!'"])
def test_a_broken_answer_is_a_death(recorder: Callable[[], Child], data: str) -> None:
    source = (
        f"import os, struct\nfor fd in range(3, 256):\n    try:\n        os.write(fd, {data})\n"
        "    except OSError:\n        pass\nos._exit(7)"
    )
    with pytest.raises(ChildDied):
        recorder().ask(job(source), 600.0)


def test_a_grandchild_does_not_outlive_its_killed_parent(recorder: Callable[[], Child], server: ForkServer) -> None:
    source = (
        "import os, time\n"
        "try:\n    pid = os.fork()\nexcept OSError:\n    pid = 1  # confinement forbids it\n"
        "if pid == 0:\n    os.setsid()\n    time.sleep(1000)\n"
        "raise ValueError('parent')"
    )
    child = recorder()
    child.ask(job(source), 600.0)
    below = descendants(server.process.pid)
    child.kill()
    assert gone_in_time(below)


def environment_of(pid: int) -> dict[str, str]:
    entries = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def test_no_server_is_replaced_once_all_were_told_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "SERVERS", [])
    made = ForkServer(tmp_path)
    children.kill_all()
    assert not made.alive
    with pytest.raises(WorkerError, match="the worker is ending"):
        made.replaced()
    made.close()


def test_no_key_of_a_service_reaches_the_fork_server(server: ForkServer) -> None:
    environment = environment_of(server.process.pid)
    assert PLANTED not in environment.values()
    assert not any("API_KEY" in name for name in environment)
    assert environment["HOME"] == str(server.scratch)


def test_no_key_of_a_service_reaches_host_code(recorder: Callable[[], Child]) -> None:
    child = recorder()
    child.ask(job("import os\nprint(dict(os.environ))"), 600.0)
    assert "HOME" in child.printed()
    assert PLANTED not in child.printed()


def test_a_python_without_torch_is_the_machines_fault_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('libtorch.so is not here')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    made = ForkServer(tmp_path)
    try:
        with pytest.raises(MachineError) as error:
            made.ready()
    finally:
        made.close()
    assert "libtorch.so is not here" in str(error.value)
    assert "pip install" in (error.value.hint or "")


def test_an_import_that_takes_for_ever_is_the_machines_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("import time\ntime.sleep(1000)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(children, "IMPORT_TIMEOUT_S", 0.5)
    made = ForkServer(tmp_path)
    try:
        with pytest.raises(MachineError, match=r"over 0\.5 s"):
            made.ready()
    finally:
        made.close()


@pytest.mark.parametrize(
    ("by", "words"), [(9, "was killed by SIGKILL while it imported torch and Triton, perhaps for want of memory$"),
                      (11, "was killed by SIGSEGV while it imported torch and Triton$")]
)  # fmt: skip
def test_a_server_that_is_killed_while_it_starts_is_not_one_that_cannot_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: int, words: str
) -> None:
    (tmp_path / "torch.py").write_text(f"import os\nos.kill(os.getpid(), {by})\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    made = ForkServer(tmp_path)
    try:
        with pytest.raises(ServerEnded, match=words):
            made.ready()
    finally:
        made.close()


def test_a_server_that_was_killed_is_our_fault_and_takes_its_children_along(tmp_path: Path) -> None:
    made = ForkServer(tmp_path)
    made.ready()
    idle = made.spawn("compiler", Options(target="sm_90"))
    busy = made.spawn("recorder")
    busy.channel.receive(600.0)
    busy.channel.send(job("while True: pass"))
    below = descendants(made.process.pid)
    assert {idle.pid, busy.pid} <= set(below)
    os.kill(made.process.pid, signal.SIGKILL)
    made.process.wait()
    assert gone_in_time(below), "children of a dead server are left running"
    with pytest.raises(WorkerError, match="fork server"):
        made.spawn("probe")
    for child in (idle, busy):
        child.channel.close()
    made.close()


def test_a_server_that_does_not_answer_is_ended_because_its_late_answer_would_be_that_of_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ForkServer(tmp_path)
    made.ready()
    monkeypatch.setattr(children, "ANSWER_S", 0.2)
    os.kill(made.process.pid, signal.SIGSTOP)
    with pytest.raises(ServerEnded):
        made.spawn("probe")
    assert not made.alive
    made.close()


def test_a_probe_that_dies_is_said_with_the_last_line_it_printed() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    discarded: list[bool] = []
    probe: Any = SimpleNamespace(
        channel=Channel(ours), printed=lambda limit: "Traceback\nno driver\n", discard=lambda: discarded.append(True)
    )
    with pytest.raises(MachineError, match="ended without an answer: no driver"):
        read_machine(probe)
    ours.close()
    assert discarded


def test_closing_a_server_leaves_nothing_behind(tmp_path: Path) -> None:
    made = ForkServer(tmp_path)
    made.ready()
    child = made.spawn("recorder")
    child.channel.receive(600.0)
    child.channel.send(job("while True: pass"))
    below = [made.process.pid, *descendants(made.process.pid)]
    made.close()
    child.channel.close()
    assert gone_in_time(below)


def test_a_child_has_one_channel_and_no_others(server: ForkServer, recorder: Callable[[], Child]) -> None:
    first, second = recorder(), recorder()
    source = "import os, socket, stat\nprint([fd for fd in range(256) if _is_socket(fd)])"
    helper = (
        "def _is_socket(fd):\n    import os, stat\n    try:\n        return stat.S_ISSOCK(os.fstat(fd).st_mode)\n"
        "    except OSError:\n        return False\n"
    )
    second.ask(job(helper + source), 600.0)
    printed = second.printed().strip().splitlines()[-1]
    assert printed.count(",") == 0, f"sockets of others are open: {printed}"
    assert first.alive
    assert isinstance(server.control, socket.socket)
