"""The supervisor's handles on a fork server and its children: spawn, ask with a deadline, kill, get the exit status.

Imports no torch. A child that misses a deadline or closes its channel is killed with its process group.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kernelwright import codec
from kernelwright.errors import MachineError, WorkerError
from kernelwright.python import how_ended, named_variables, python
from kernelwright.text.escape import legible
from kernelwright.worker.confine.limits import ALLOWANCES
from kernelwright.worker.processes.channel import Channel, ChannelClosed, ChannelTimeout, Message
from kernelwright.worker.processes.commands import NO_OPTIONS, Options, Poll, Spawn
from kernelwright.worker.processes.limits import usable_cores

T = TypeVar("T")

CONFINED = frozenset({*ALLOWANCES, "intruder"})
"""Roles that run in a sandbox: those that execute a candidate's text, and the intruder, which tests the sandbox."""

IMPORT_TIMEOUT_S = 180.0
"""Time limit of importing torch and Triton. A cold import of torch took 25 s on a slow disk."""

ANSWER_S = 60.0
"""How long a fork server may take to answer a command, which takes it milliseconds."""

GRACE_S = 2.0
"""Time for a child that closed its channel to end by itself, such as a crash that still writes its traceback."""

KILL_S = 60.0
"""Time for the driver to tear down the CUDA context of a killed process whose kernel still runs."""


class ChildDied(Exception):
    """A child ended, or broke the protocol and was killed. `exit_status`: negative for a signal, as in `subprocess`."""

    def __init__(self, exit_status: int) -> None:
        super().__init__(f"exit status {exit_status}")
        self.exit_status = exit_status

    @property
    def how(self) -> str:
        """The end of the child as a predicate, such as "was killed by SIGSEGV"."""
        return how_ended(self.exit_status)


class ServerEnded(WorkerError):
    """The fork server ended, and its children with it."""


class ChildTimeout(Exception):
    """A child missed its deadline and was killed."""


class Child:
    """One forked process with a private channel."""

    def __init__(
        self, server: ForkServer, role: str, pid: int, channel: Channel, log: Path | None, scratch: Path | None = None
    ) -> None:
        """scratch: a private folder, removed when the child is killed."""
        self.server, self.role, self.pid, self.channel, self.log = server, role, pid, channel, log
        self.scratch = scratch
        self.plans: dict[str, None] = {}  # names of the plans that this child was sent
        self.is_killed = False

    @property
    def alive(self) -> bool:
        """Whether neither this child was killed by us nor its server ended. A child that crashed counts as alive until
        the next `ask`."""
        return not self.is_killed and self.server.alive

    @property
    def is_orphan(self) -> bool:
        """Whether the child ended with its server and was not cleaned up yet."""
        return not self.is_killed and not self.server.alive

    def ask(self, message: Message[Any], timeout_s: float) -> dict[str, Any]:
        """Send one message and wait for its answer.

        Raises ChildDied or ChildTimeout; the child is killed by then.
        """
        try:
            self.channel.send(message)
            answer = self.channel.receive(timeout_s)
        except ChannelTimeout as error:
            self.kill()
            raise ChildTimeout(f"{self.role} gave no answer in {timeout_s:g} s") from error
        except ChannelClosed as error:
            raise ChildDied(self.kill(grace=True)) from error
        if not isinstance(answer, dict):
            status = self.kill()
            if self.role in CONFINED:  # a candidate may forge this answer, so it is no fault of ours
                raise ChildDied(status)
            raise WorkerError(f"the {self.role} answered {type(answer).__name__}, an object was expected")
        return answer

    def kill(self, grace: bool = False) -> int:
        """Kill the process group; returns the child's exit status, 0 if it was killed before. grace: first give the
        child GRACE_S to end by itself. Raises WorkerError if it survives SIGKILL for KILL_S."""
        if self.is_killed:
            return 0
        self.is_killed = True
        self.channel.close()
        status = self.server.wait(self.pid, GRACE_S) if grace else None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # the child, or processes that it started
        if status is None:
            status = self.server.wait(self.pid, KILL_S)
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)
        if status is None:
            raise WorkerError(f"the {self.role} (process {self.pid}) survives SIGKILL for {KILL_S:g} s")
        return status

    def discard(self) -> None:
        """Kill the child and remove its log: a long run starts a child per candidate."""
        self.kill()
        if self.log is not None:
            self.log.unlink(missing_ok=True)

    def printed(self, limit: int = 4000) -> str:
        """The last `limit` bytes of the child's standard output and error; empty without a log."""
        if self.log is None or not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - limit))
            return legible(file.read().decode(errors="replace"))


SERVERS: list[ForkServer] = []
"""Every fork server of this process, also that of a `Processes` whose constructor still runs."""


def environment_of(scratch: Path) -> dict[str, str]:
    """Environment of a fork server and of a profiled program. Their home and compile caches are in `scratch`.

    GLIBC_TUNABLES: allocations lie in huge pages, so that a fork of a process that has imported torch copies fewer page
    table entries. Two forks, one in the other, then take 28 ms of processor time instead of 50 (Linux 6.18, AMD EPYC).
    PYTHONMALLOC: those of Python objects too, which halves that again.
    """
    return named_variables() | {
        "HOME": str(scratch), "TRITON_CACHE_DIR": str(scratch / "triton"), "OPENBLAS_NUM_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"), "PYTHONUNBUFFERED": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "PYTHONMALLOC": "malloc",
    }  # fmt: skip


def kill_all() -> None:
    """Kill every fork server of this process and its children, from any thread. Waits up to GRACE_S for the children to
    end, which works only in a process that adopts them (`forkserver.adopt_orphans`)."""
    servers = SERVERS[:]
    SERVERS.clear()  # from now on `replaced` refuses
    for server in servers:
        server.kill()
    end_s = time.monotonic() + GRACE_S
    with contextlib.suppress(ChildProcessError):  # no child is left
        while time.monotonic() < end_s:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)


class ForkServer:
    """The supervisor's handle on one fork server. interpret: its Triton runs kernels in the CPU interpreter instead of
    compiling them.

    children: number from which to count children, so that a replacement in the same folder reuses no file name. cores:
    how many cores torch may use, None for all that this process may use.
    """

    def __init__(self, scratch: Path, interpret: bool = False, children: int = 0, cores: int | None = None) -> None:
        self.scratch, self.interpret = scratch, interpret
        self.cores = cores or usable_cores()
        self.lock = threading.Lock()
        self.children = children
        ours, theirs = socket.socketpair()
        environment = environment_of(scratch)
        if interpret:
            environment |= {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
        self.log = scratch / ("interpreter.log" if interpret else "compiler.log")
        with self.log.open("ab") as log:
            server = python("-m", "kernelwright.worker.processes.forkserver")
            self.process = subprocess.Popen(
                [*server, str(theirs.fileno()), str(os.getpid()), str(self.cores)],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment, cwd=scratch, start_new_session=True,
            )  # fmt: skip
        SERVERS.append(self)
        theirs.close()
        self.control = ours
        self.versions: dict[str, str] | None = None

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def replaced(self) -> ForkServer:
        """A new server that replaces this one, which ended. Raises `WorkerError` after `kill_all`."""
        if self not in SERVERS:
            raise WorkerError("the worker is ending")
        self.close()
        SERVERS.remove(self)
        return ForkServer(self.scratch, self.interpret, self.children, self.cores)

    def ready(self) -> dict[str, str]:
        """Wait for the imports; returns the versions of torch and Triton. Raises MachineError if an import fails,
        ServerEnded if a signal ended the server."""
        with self.lock:
            if self.versions is None:
                self.control.settimeout(IMPORT_TIMEOUT_S)
                try:
                    data = self.control.recv(1 << 16)
                except OSError as error:
                    raise MachineError(f"importing torch and Triton took over {IMPORT_TIMEOUT_S:g} s") from error
                if not data and (status := self.process.wait()) < 0:
                    why = ", perhaps for want of memory" if status == -signal.SIGKILL else ""
                    raise ServerEnded(f"the fork server {how_ended(status)} while it imported torch and Triton{why}")
                if not data:
                    lines = self.log.read_text(errors="replace").strip().splitlines()
                    raise MachineError(
                        f"{python()[0]} cannot import torch and Triton: {lines[-1] if lines else 'no output'}",
                        "pip install 'kernelwright[worker]'",
                    )
                self.versions = {k: str(v) for k, v in msgspec.json.decode(data).items()}
            return self.versions

    def spawn(
        self, role: str, options: Options = NO_OPTIONS, log: bool = False, descriptors: Sequence[int] = ()
    ) -> Child:
        """Start a child in `role`. A confined one gets the path of a private folder as its option `scratch`.

        descriptors: file descriptors to pass on; the child finds them in its option `descriptors`.
        """
        self.ready()
        with self.lock:
            self.children += 1
            path = self.scratch / f"{role}-{self.children}.log" if log else None
            scratch = self.scratch / f"{role}_{self.children}" if role in CONFINED else None
            options = msgspec.structs.replace(options, scratch=str(scratch)) if scratch else options
            ours, theirs = socket.socketpair()
            command = Spawn(role=role, options=options, log=str(path) if path else None)
            try:
                pid = self._asked(command, [theirs.fileno(), *descriptors])
            except WorkerError:
                ours.close()
                raise
            finally:
                theirs.close()
        return Child(self, role, pid, Channel(ours), path, scratch)

    def wait(self, pid: int, timeout_s: float) -> int | None:
        """The exit status of a child; None if it still runs after timeout_s. If the server ended, that of SIGKILL."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                with self.lock:
                    status = self._asked(Poll(pid=pid), [])
            except ServerEnded:
                return -signal.SIGKILL
            if status is not None or time.monotonic() > deadline:
                return status
            time.sleep(0.005)

    def _asked(self, command: Message[T], descriptors: list[int]) -> T:
        try:
            self.control.settimeout(ANSWER_S)
            socket.send_fds(self.control, [msgspec.json.encode(command)], descriptors)
            data = self.control.recv(1 << 16)
        except OSError as error:  # a late answer would be taken for that of the next command
            raise self._end() from error
        if not data:
            raise self._end()
        return codec.decode(data, command.answer)

    def _end(self) -> ServerEnded:
        """Kill a server that closed its socket or does not answer: no command can be sent to it any more."""
        self.kill()
        return ServerEnded(f"the fork server ended; its log is {self.log}")

    def kill(self) -> None:
        """Kill the server at once; its children end with it (`forkserver.end_with`)."""
        if self.alive:  # otherwise the process id may already belong to another group
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        self.control.close()
        self.kill()
