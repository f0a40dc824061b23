"""Children of the fork server as the supervisor sees them: spawn, ask with a deadline, kill, collect the status.

Imports no torch. A child that misses a deadline or breaks off is killed with its whole process
group, and how it ended comes back as data.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.errors import MachineError, WorkerError
from kernelwright.text.escape import legible
from kernelwright.worker.confine.allowance import ALLOWANCES
from kernelwright.worker.processes.channel import Channel, ChannelClosed, ChannelTimeout, Message
from kernelwright.worker.processes.limits import usable_cores

KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH",
                  "TRITON_PTXAS_PATH", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "CC", "CXX")  # fmt: skip
"""The only environment variables that the fork server and its children see: no key of any service."""

CONFINED = frozenset({*ALLOWANCES, "intruder"})
"""Roles that execute a candidate's text, and the one that tries what they could do."""

IMPORT_TIMEOUT_S = 180.0
"""A cold import of torch has taken 25 s on a slow disk."""

GRACE_S = 2.0
"""How long a child that closed its channel may take to end by itself (a crash may write its last words)."""

KILL_S = 60.0
"""How long the driver may take to tear down the context of a killed process whose kernel still runs."""


class ChildDied(Exception):
    """A child ended on its own. `exit_status`: negative for a signal, as in `subprocess`."""

    def __init__(self, exit_status: int) -> None:
        super().__init__(f"exit status {exit_status}")
        self.exit_status = exit_status

    @property
    def how(self) -> str:
        """In words, such as "killed by SIGSEGV"."""
        if self.exit_status < 0:
            return f"killed by {signal.Signals(-self.exit_status).name}"
        return f"ended with exit status {self.exit_status}"


class ServerEnded(WorkerError):
    """The fork server is gone, and its children with it."""


class ChildTimeout(Exception):
    """A child missed its deadline and was killed."""


class Child:
    """One forked process with a private channel."""

    def __init__(
        self, server: ForkServer, role: str, pid: int, channel: Channel, log: Path | None, scratch: Path | None = None
    ) -> None:
        """scratch: a private folder, removed when it is killed."""
        self.server, self.role, self.pid, self.channel, self.log = server, role, pid, channel, log
        self.scratch = scratch
        self.plans: dict[str, None] = {}  # the names of those that it was sent
        self.is_killed = False

    @property
    def alive(self) -> bool:
        """Not killed by us. One that ended on its own counts as alive until it is asked, unless its server ended."""
        return not self.is_killed and self.server.alive

    @property
    def is_orphan(self) -> bool:
        """Whether it ended with its server, and that was not noticed yet."""
        return not self.is_killed and not self.server.alive

    def ask(self, message: dict[str, Any] | Message, timeout_s: float) -> dict[str, Any]:
        """Send one message and wait for its answer.

        Raises ChildDied or ChildTimeout, after which the child is gone.
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
            if self.role in CONFINED:  # as where a frame is no JSON: what executes a candidate's text may say anything
                raise ChildDied(status)
            raise WorkerError(f"the {self.role} answered {type(answer).__name__}, an object was expected")
        return answer

    def kill(self, grace: bool = False) -> int:
        """End the process group; returns the exit status. grace: it is ending by itself, do not disturb that."""
        if self.is_killed:
            return 0
        self.is_killed = True
        self.channel.close()
        status = self.server.wait(self.pid, GRACE_S) if grace else None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # the child, or what it left behind
        if status is None:
            status = self.server.wait(self.pid, KILL_S)
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)
        if status is None:
            raise WorkerError(f"the {self.role} (process {self.pid}) survives SIGKILL for {KILL_S:g} s")
        return status

    def printed(self, limit: int = 4000) -> str:
        """The end of what it wrote to standard output and error."""
        if self.log is None or not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - limit))
            return legible(file.read().decode(errors="replace"))


SERVERS: list[ForkServer] = []
"""All that were started, also those of a `Processes` that is still being made."""


def environment_of(scratch: Path) -> dict[str, str]:
    """The environment of everything of ours that imports torch; what it compiles is kept in `scratch`, for all."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return kept | {
        "HOME": str(scratch), "TRITON_CACHE_DIR": str(scratch / "triton"), "OPENBLAS_NUM_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"), "PYTHONUNBUFFERED": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1", "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def kill_all() -> None:
    """End every fork server of this process with its children, from any thread and without waiting for an answer. The
    children are seen to end only where this process adopts them (`forkserver.adopt_orphans`)."""
    servers = SERVERS[:]
    SERVERS.clear()  # none of them is replaced any more
    for server in servers:
        server.kill()
    end_s = time.monotonic() + GRACE_S
    with contextlib.suppress(ChildProcessError):  # none is left
        while time.monotonic() < end_s:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)


class ForkServer:
    """One fork server. interpret: its Triton runs kernels in the CPU interpreter instead of compiling them.

    children: the number of children of the server in whose place and folder this one starts. cores: how many torch
    may compute on.
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
            server = [sys.executable, "-m", "kernelwright.worker.processes.forkserver"]
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
        """A new server in the place of this one, which ended. Raises `WorkerError` where all are being ended."""
        if self not in SERVERS:
            raise WorkerError("the worker is ending")
        self.close()
        SERVERS.remove(self)
        return ForkServer(self.scratch, self.interpret, self.children, self.cores)

    def ready(self) -> dict[str, str]:
        """Versions of torch and Triton, once imported; raises MachineError where they cannot be."""
        with self.lock:
            if self.versions is None:
                self.control.settimeout(IMPORT_TIMEOUT_S)
                try:
                    data = self.control.recv(1 << 16)
                except OSError as error:
                    raise MachineError(f"importing torch and Triton took over {IMPORT_TIMEOUT_S:g} s") from error
                if not data:
                    lines = self.log.read_text(errors="replace").strip().splitlines()
                    raise MachineError(
                        f"{sys.executable} cannot import torch and Triton: {lines[-1] if lines else 'no output'}",
                        "pip install 'kernelwright[worker]'",
                    )
                self.versions = {k: str(v) for k, v in msgspec.json.decode(data).items()}
            return self.versions

    def spawn(
        self,
        role: str,
        options: dict[str, Any] | None = None,
        log: bool = False,
        descriptors: Sequence[int] = (),
    ) -> Child:
        """A child in `role`. A confined one gets an empty private folder as its option `scratch`.

        descriptors: passed on to it, as its option `descriptors`.
        """
        self.ready()
        with self.lock:
            self.children += 1
            path = self.scratch / f"{role}-{self.children}.log" if log else None
            scratch = self.scratch / f"{role}_{self.children}" if role in CONFINED else None
            options = (options or {}) | ({"scratch": str(scratch)} if scratch else {})
            ours, theirs = socket.socketpair()
            command = {"verb": "spawn", "role": role, "options": options, "log": str(path) if path else None}
            try:
                pid = self._asked(command, [theirs.fileno(), *descriptors])["pid"]
            except WorkerError:
                ours.close()
                raise
            finally:
                theirs.close()
        return Child(self, role, pid, Channel(ours), path, scratch)

    def wait(self, pid: int, timeout_s: float) -> int | None:
        """The exit status of a child; None when it still runs after timeout_s. It is killed with the server."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                with self.lock:
                    status: int | None = self._asked({"verb": "poll", "pid": pid}, [])["exit"]
            except ServerEnded:
                return -signal.SIGKILL
            if status is not None or time.monotonic() > deadline:
                return status
            time.sleep(0.005)

    def _asked(self, command: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        try:
            self.control.settimeout(60.0)
            socket.send_fds(self.control, [msgspec.json.encode(command)], descriptors)
            data = self.control.recv(1 << 16)
        except TimeoutError as error:
            raise WorkerError("the fork server does not answer") from error
        except OSError as error:
            raise self._ended() from error
        if not data:
            raise self._ended()
        answer: dict[str, Any] = msgspec.json.decode(data)
        return answer

    def _ended(self) -> ServerEnded:
        """Once its end of the connection is closed, it can do nothing more."""
        self.kill()
        return ServerEnded(f"the fork server ended; its log is {self.log}")

    def kill(self) -> None:
        """It and its children, which end with it (`forkserver.end_with`), at once."""
        if self.alive:  # else its number may be another group's by now
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        self.control.close()
        self.kill()
