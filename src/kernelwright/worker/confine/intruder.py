"""The intruder: a process that enters the sandbox of a role, then tries operations that the sandbox must refuse.

It tests whether the measures really work on this machine; that the Linux kernel accepted them proves nothing. The
attempts do no harm if they succeed. An attempt succeeded if it raises nothing.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from kernelwright import codec
from kernelwright.model import Attempt, Record
from kernelwright.python import python
from kernelwright.worker import confine
from kernelwright.worker.confine.libc import libc
from kernelwright.worker.processes.channel import Channel, Message
from kernelwright.worker.processes.commands import Options

PTRACE_SEIZE = 0x4206  # linux/ptrace.h; does not stop the other process
MEMORY_BYTES = 64 << 30
FILE_BYTES = 128 << 20


EXPOSING = (
    "connect to a port of this machine", "read a file outside of its folders", "write outside of its folders",
    "change an installed module", "read another process's environment", "trace another process",
)  # fmt: skip
"""Attempts that reach the user's files, environments or sockets."""


class Target(Record, frozen=True, kw_only=True):
    """Targets outside of the sandbox: a listening port of this machine, a file, a process of the same user, devices."""

    port: int
    file: str
    process: int
    devices: tuple[str, ...]


class Intruded(Record, frozen=True, kw_only=True):
    """measures: each measure of the sandbox, and how far it is in force."""

    measures: dict[str, str]
    attempts: tuple[Attempt, ...]


class Intrude(Message[Intruded], frozen=True, kw_only=True, tag="intrude"):
    """Enter the sandbox of a role, and try to leave it. brief: try only `EXPOSING`."""

    role: str
    target: Target
    brief: bool


def main(channel: Channel, options: Options) -> None:
    job = codec.record(channel.receive(None), Intrude)
    allowance = confine.ALLOWANCES[job.role]
    measures = confine.enter(Path(options.scratch), (channel.socket.fileno(),), allowance)
    chosen = attempts_on(job.target, allowance.processes + 1).items()
    attempts = [tried(job.role, what, attempt) for what, attempt in chosen if not job.brief or what in EXPOSING]
    channel.send(Intruded(measures=measures, attempts=tuple(attempts)))


def tried(role: str, what: str, attempt: Callable[[], object]) -> Attempt:
    try:
        attempt()
    except (OSError, MemoryError, RuntimeError, LookupError) as error:
        return Attempt(what=what, role=role, refused=True, how=f"{type(error).__name__}: {error}".rstrip(": "))
    return Attempt(what=what, role=role, refused=False, how="nothing stopped it")


def attempts_on(target: Target, too_many: int) -> dict[str, Callable[[], object]]:
    """The attempts in order, by description; devices are tried only if there are any. too_many: a number of processes
    over the role's limit."""
    address = ("127.0.0.1", target.port)
    found: dict[str, Callable[[], object]] = {
        "connect to a port of this machine": lambda: connect(address),
        "read a file outside of its folders": lambda: Path(target.file).read_bytes(),
        "write outside of its folders": lambda: Path(target.file).with_suffix(".written").write_text("here"),
        "change an installed module": lambda: open_for_appending(Path(codec.__file__)),
        "read another process's environment": lambda: Path(f"/proc/{target.process}/environ").read_bytes(),
        "signal another process": lambda: os.kill(target.process, 0),
        "trace another process": lambda: libc("ptrace", PTRACE_SEIZE, target.process, 0, 0),
        "start processes without limit": lambda: start_processes(too_many),
        "start threads without limit": lambda: start_threads(too_many),
        "run a program": lambda: os.waitpid(os.posix_spawn(python()[0], python("-c", ""), {}), 0),
        "take 64 GiB of memory": lambda: bytearray(MEMORY_BYTES),
        "write 128 MiB into its folder": write_much,
        "find an inherited variable of a service": service_variable,
    }
    if target.devices:
        found["open the GPU's device files"] = lambda: open_one_of(target.devices)
    return found


def connect(address: tuple[str, int]) -> None:
    with socket.create_connection(address, 2):
        pass


def open_for_appending(file: Path) -> None:
    with file.open("ab"):
        pass


def open_one_of(devices: tuple[str, ...]) -> None:
    """Open any of the devices; raises the error of the last one if none can be opened."""
    for path in devices:
        try:
            os.close(os.open(path, os.O_RDWR))
        except OSError:
            if path == devices[-1]:
                raise
        else:
            return


def start_processes(count: int) -> None:
    """Start `count` processes at once; each ends when the pipe closes."""
    read, write = os.pipe()
    children = []
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                os.close(write)
                os.read(read, 1)
                os._exit(0)
            children.append(child)
    finally:
        os.close(write)
        for child in children:
            os.waitpid(child, 0)
        os.close(read)


def start_threads(count: int) -> None:
    done = threading.Event()
    started = []
    try:
        for _ in range(count):
            thread = threading.Thread(target=done.wait, args=(60.0,))
            thread.start()
            started.append(thread)
    finally:
        done.set()
        for thread in started:
            thread.join()


def write_much() -> None:
    block = bytes(1 << 20)
    with Path("much").open("wb") as file:
        for _ in range(FILE_BYTES // len(block)):
            file.write(block)


def service_variable() -> str:
    words = ("KEY", "TOKEN", "SECRET", "PASSWORD", "BASE_URL")
    for name in os.environ:
        if any(word in name for word in words):
            return name
    raise LookupError("none of the kind is set")
