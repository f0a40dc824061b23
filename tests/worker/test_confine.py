"""Confinement, measure by measure and all together, on whatever this machine has.

Each test confines a process of its own that imports no torch. A measure that is not to be had here skips its test with
the machine's reason; the report itself is always tested.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelwright.worker.confine import IN_FORCE, MEASURES, seccomp
from kernelwright.worker.confine.paths import outermost
from kernelwright.worker.confine.syscalls import AARCH64, X86_64, Architecture

SECRET = "sk-planted-nobody-may-read-this"

PRELUDE = """
import json, os, socket, sys, threading
from pathlib import Path
from kernelwright.worker import confine
from kernelwright.worker.confine import root
from kernelwright.worker.confine.libc import libc

scratch, outside, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
scratch.mkdir(exist_ok=True)
os.chdir(scratch)
found = {}

def measure(*names):
    for name in names:
        found[name] = confine.attempt(confine.MEASURES[name], scratch, confine.RECORDER)
        if found[name] != confine.IN_FORCE:
            tell()

def attempt(what, act):
    try:
        act()
    except BaseException as error:
        found[what] = type(error).__name__
    else:
        found[what] = "done"

def tell():
    print(json.dumps(found), flush=True)
    os._exit(0)
"""


def confined(tmp_path: Path, code: str, port: int = 1) -> subprocess.CompletedProcess[str]:
    """Runs `code` after the prelude, in a process of its own, with a planted file outside of its scratch folder."""
    outside = tmp_path / "outside.txt"
    outside.write_text(SECRET)
    words = [sys.executable, "-c", PRELUDE + code, str(tmp_path / "scratch"), str(outside), str(port)]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, env=os.environ | {"PLANTED_KEY": SECRET})


def found_by(tmp_path: Path, code: str, port: int = 1) -> dict[str, Any]:
    """What `code` noted with `attempt`; skips where a measure that it names is not to be had."""
    result = confined(tmp_path, code + "\ntell()\n", port)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    for name, state in found.items():
        if name in MEASURES and state != IN_FORCE:
            pytest.skip(f"{name} is {state}")
    return {name: state for name, state in found.items() if name not in MEASURES}


# --- all together -------------------------------------------------------------------------------------------


def test_every_measure_is_reported_and_the_process_still_works(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
report = confine.enter(scratch, (3,), confine.RECORDER)
found["report"] = report
attempt("import late", lambda: __import__("zipfile"))
attempt("write", lambda: Path("note.txt").write_text("kept"))
attempt("read back", lambda: print(Path("note.txt").read_text(), file=sys.stderr))
found["cwd"], found["variables"] = os.getcwd(), dict(os.environ)
""",
    )
    assert list(found["report"]) == ["descriptors", *MEASURES]
    assert all(state == IN_FORCE or state.startswith("not available: ") for state in found["report"].values())
    assert {found[what] for what in ("import late", "write", "read back")} == {"done"}
    assert found["cwd"] == str(tmp_path / "scratch")
    assert found["variables"]["HOME"] == str(tmp_path / "scratch")
    assert found["variables"]["CUDA_VISIBLE_DEVICES"] == ""
    assert SECRET not in json.dumps(found)


def test_what_a_machine_refuses_is_said_and_the_rest_is_still_done(tmp_path: Path) -> None:
    # The filter first: like a kernel that refuses every namespace.
    found = found_by(
        tmp_path,
        """
measure("no_new_privileges", "system_calls")
found["report"] = confine.enter(scratch, (3,), confine.RECORDER)
""",
    )["report"]
    assert found["network_namespace"].startswith("not available: ")
    assert "Operation not permitted" in found["mount_namespace"]
    assert found["own_root"] == "not available: it needs mount_namespace"
    assert found["process_limit"] == "not available: it needs user_namespace"
    assert found["descriptors"] == found["environment"] == IN_FORCE


def test_a_file_tree_that_cannot_be_built_leaves_a_scratch_folder_to_write_in(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
measure("user_namespace", "mount_namespace")
root.DEVICES = ("/dev/no-such-device",)
found["tree"] = confine.attempt(confine.MEASURES["own_root"], scratch, confine.RECORDER)
attempt("write", lambda: Path("note.txt").write_text("kept"))
""",
    )
    assert found["tree"].startswith("not available: [Errno 2] mounting /dev/no-such-device")
    assert found["write"] == "done"
    assert (tmp_path / "scratch" / "note.txt").read_text() == "kept"


# --- one by one ---------------------------------------------------------------------------------------------


def test_the_filter_alone_refuses_what_no_host_code_needs(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
other = os.getppid()
measure("no_new_privileges", "system_calls")
attempt("socket", socket.socket)
attempt("socket pair", socket.socketpair)
attempt("process", os.fork)
attempt("thread", threading.Thread(target=print).start)
attempt("program", lambda: os.execv(sys.executable, [sys.executable, "-c", ""]))
attempt("signal another", lambda: os.kill(other, 0))
attempt("trace", lambda: libc("ptrace", 0x4206, other, 0, 0))
attempt("other's memory", lambda: libc("process_vm_readv", other, None, 0, None, 0, 0))
attempt("namespace", lambda: libc("unshare", 0x10000000))
attempt("mount", lambda: libc("mount", None, b"/", None, 0x44000, None))
attempt("file in memory", lambda: libc("memfd_create", b"x", 0))
attempt("signal by file", lambda: __import__("fcntl").fcntl(0, 8, other))
attempt("terminal input", lambda: __import__("fcntl").ioctl(0, 0x5412, b"x"))
attempt("others' limits", lambda: __import__("resource").prlimit(other, 7))
""",
    )
    assert found.pop("thread") == "RuntimeError"
    assert set(found.values()) == {"PermissionError"}, found


def test_the_filter_alone_lets_ordinary_work_through(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
measure("no_new_privileges", "system_calls")
attempt("files", lambda: (Path("a").mkdir(), Path("a/b").write_text("x"), os.listdir("."), os.remove("a/b")))
attempt("temporary", lambda: __import__("tempfile").TemporaryFile(dir=".").close())
attempt("late import", lambda: __import__("decimal"))
attempt("time", lambda: __import__("time").sleep(0.001))
attempt("memory", lambda: bytearray(1 << 28))
attempt("random", lambda: os.urandom(16))
attempt("lock", lambda: __import__("threading").Lock().acquire(timeout=1))
attempt("own limits", lambda: __import__("resource").getrlimit(7))
attempt("terminal?", lambda: os.isatty(0))
attempt("inheritable", lambda: os.set_inheritable(0, True))
""",
    )
    assert set(found.values()) == {"done"}, found


def test_landlock_alone_keeps_files_from_being_opened(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
attempt("before", lambda: Path(outside).read_text())
measure("no_new_privileges", "landlock")
attempt("read outside", lambda: Path(outside).read_text())
attempt("write outside", lambda: Path(outside).with_name("new.txt").write_text("x"))
attempt("remove outside", lambda: os.remove(outside))
attempt("own variables", lambda: Path("/proc/self/environ").read_bytes())
attempt("parent's variables", lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes())
attempt("user's home", lambda: os.listdir(os.path.expanduser("~")))
attempt("this source", lambda: Path(confine.__file__).open("a"))
attempt("list the root", lambda: os.listdir("/"))
attempt("read Python", lambda: Path(os.__file__).read_text())
attempt("write in scratch", lambda: Path("note.txt").write_text("kept"))
attempt("null", lambda: Path("/dev/null").write_text("gone"))
""",
    )
    assert {found.pop(what) for what in ("before", "read Python", "write in scratch", "null")} == {"done"}
    assert set(found.values()) == {"PermissionError"}, found
    assert (tmp_path / "outside.txt").read_text() == SECRET


def test_the_file_tree_alone_shows_nothing_but_python_and_scratch(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
measure("user_namespace", "mount_namespace", "own_root")
attempt("read outside", lambda: Path(outside).read_text())
attempt("processes", lambda: os.listdir("/proc/self"))
attempt("user's home", lambda: Path("/etc/passwd").read_text())
attempt("write in the root", lambda: Path("/new").write_text("x"))
attempt("write in Python", lambda: Path(os.__file__).open("a"))
attempt("read Python", lambda: Path(os.__file__).read_text())
attempt("late import", lambda: __import__("sqlite3"))
attempt("write in scratch", lambda: Path("note.txt").write_text("kept"))
found["devices"] = sorted(os.listdir("/dev"))
""",
    )
    assert {found[what] for what in ("read outside", "processes", "user's home")} == {"FileNotFoundError"}
    assert {found[what] for what in ("write in the root", "write in Python")} <= {"OSError", "PermissionError"}
    assert {found[what] for what in ("read Python", "late import", "write in scratch")} == {"done"}
    assert found["devices"] == ["null", "urandom", "zero"]
    assert list((tmp_path / "scratch").iterdir()) == []  # it wrote into memory


def test_a_network_namespace_alone_reaches_no_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = found_by(
            tmp_path,
            """
connect = lambda: socket.create_connection(("127.0.0.1", port), 5).close()
attempt("before", connect)
measure("user_namespace", "network_namespace")
attempt("after", connect)
""",
            port=server.getsockname()[1],
        )
    assert found == {"before": "done", "after": "OSError"}


def test_a_process_namespace_alone_hides_other_processes(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
other = os.getppid()
measure("user_namespace", "process_namespace")
attempt("signal another", lambda: os.kill(other, 0))
found["own number"] = os.getpid()
""",
    )
    assert found == {"signal another": "ProcessLookupError", "own number": 1}


@pytest.mark.parametrize(
    ("ending", "status"), [("os._exit(7)", 7), ("__import__('ctypes').string_at(0)", -signal.SIGSEGV)]
)
def test_how_a_process_in_its_own_namespace_ends_reaches_whoever_waits(
    tmp_path: Path, ending: str, status: int
) -> None:
    result = confined(tmp_path, f"measure('limits', 'user_namespace', 'process_namespace')\n{ending}\n")
    if result.stdout:
        pytest.skip(result.stdout)
    assert result.returncode == status


def test_limits_alone_bound_memory_files_and_descriptors(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
measure("limits")
attempt("memory", lambda: bytearray(16 << 30))
attempt("some memory", lambda: bytearray(1 << 30))
attempt("file", lambda: Path("big").write_bytes(bytes(65 << 20)))
attempt("descriptors", lambda: [os.dup(0) for _ in range(300)])
found["core"] = __import__("resource").getrlimit(__import__("resource").RLIMIT_CORE)
""",
    )
    assert found == {
        "memory": "MemoryError", "some memory": "done", "file": "OSError", "descriptors": "OSError", "core": [0, 0],
    }  # fmt: skip


def test_only_the_channel_and_the_log_stay_open(tmp_path: Path) -> None:
    found = found_by(
        tmp_path,
        """
kept, lost = os.pipe()
confine.only_these_descriptors((kept,))
attempt("kept", lambda: os.fstat(kept))
attempt("lost", lambda: os.fstat(lost))
found["input"] = os.read(0, 1).decode()
""",
    )
    assert found == {"kept": "done", "lost": "OSError", "input": ""}


# --- arithmetic ---------------------------------------------------------------------------------------------


def test_paths_inside_of_others_are_left_out() -> None:
    paths = [Path("/usr/lib/python3/site-packages"), Path("/usr/lib"), Path("/usr/lib64"), Path("/usr/lib")]
    assert outermost(paths) == (Path("/usr/lib"), Path("/usr/lib64"))


def run_filter(program: list[bytes], audit: int, number: int, *arguments: int) -> int:
    """What the kernel would answer: the filter executed over one system call (struct seccomp_data)."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *[*arguments, 0, 0, 0, 0, 0, 0][:6])
    at, loaded = 0, 0
    while True:
        code, then, otherwise, value = struct.unpack("=HBBI", program[at])
        at += 1
        if code == seccomp.LOAD:
            (loaded,) = struct.unpack_from("=I", data, value)
        elif code == seccomp.IF_EQUAL:
            at += then if loaded == value else otherwise
        elif code == seccomp.IF_AT_LEAST:
            at += then if loaded >= value else otherwise
        else:
            assert code == seccomp.RETURN
            return int(value)


@pytest.mark.parametrize("known", [X86_64, AARCH64], ids=["x86_64", "aarch64"])
def test_the_filter_allows_exactly_what_is_listed(known: Architecture) -> None:
    program = seccomp.program(known, pid=41)
    assert len(program) < 4096  # BPF_MAXINSNS
    special = {known.fcntl, known.ioctl, known.tgkill, known.prlimit64, known.clone3}
    assert not special & known.allowed
    for number in range(1024):
        answer = run_filter(program, known.audit, number)
        if number in known.allowed:
            assert answer == seccomp.ALLOW, number
        elif number == known.clone3 or number > known.newest:
            assert answer == seccomp.UNKNOWN, number
        elif number not in special:
            assert answer == seccomp.REFUSE, number


@pytest.mark.parametrize("known", [X86_64, AARCH64], ids=["x86_64", "aarch64"])
def test_the_filter_looks_at_arguments_where_they_decide(known: Architecture) -> None:
    def answer(number: int, *arguments: int) -> int:
        return run_filter(seccomp.program(known, pid=41), known.audit, number, *arguments)

    assert answer(known.tgkill, 41, 41, 6) == seccomp.ALLOW
    assert answer(known.tgkill, 40, 40, 6) == seccomp.REFUSE
    assert answer(known.fcntl, 3, 2, 1) == seccomp.ALLOW  # F_SETFD
    assert answer(known.fcntl, 3, 8, 40) == seccomp.REFUSE  # F_SETOWN
    assert answer(known.ioctl, 1, 0x5401) == seccomp.ALLOW  # TCGETS
    assert answer(known.ioctl, 0, 0x5412) == seccomp.REFUSE  # TIOCSTI
    assert answer(known.prlimit64, 0, 7) == seccomp.ALLOW
    assert answer(known.prlimit64, 40, 7) == seccomp.REFUSE


def test_calls_of_another_architecture_or_its_other_numbering_are_refused() -> None:
    program = seccomp.program(X86_64, pid=41)
    i386 = 0x40000003
    assert run_filter(program, i386, 3) == seccomp.REFUSE  # read, on 32 bits
    assert run_filter(program, X86_64.audit, 0x40000000) != seccomp.ALLOW  # read, in the x32 numbering
