"""The fork server: imports torch and Triton once, never initialises CUDA, and forks each child process of the worker.

A fresh process takes about 4.5 s for these imports, a fork milliseconds. The server itself runs no code of a problem or
a candidate. argv: the file descriptor of its control socket, the process id of the supervisor, and the number of cores
to compute on. Commands come over the control socket: `spawn` brings the child's own socket as an ancillary descriptor,
`poll` asks for a child's exit status.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator

import msgspec

from kernelwright import codec
from kernelwright.worker.confine.libc import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, libc
from kernelwright.worker.processes.channel import Channel
from kernelwright.worker.processes.commands import Poll, Spawn

ROLES = {
    "probe": "kernelwright.worker.processes.probe",
    "judge": "kernelwright.worker.judge.judge",
    "bench": "kernelwright.worker.bench.bench",
    "interpreter": "kernelwright.worker.interpret.interpreter_bench",
    "recorder": "kernelwright.worker.record.recorder",
    "intruder": "kernelwright.worker.confine.intruder",
    "compiler": "kernelwright.worker.compile.compiler",
    "generator": "kernelwright.worker.generate.generator",
    "baseline_compiler": "kernelwright.worker.ahead.compiler",
}
"""The module whose `main(channel, options)` a child runs, by role."""

LATE = {
    "generator": (
        "kernelwright.worker.generate.series", "torch.export._trace", "torch._inductor.fx_passes.pad_mm",
        "sympy.physics", "sympy.tensor.tensor",
    ),
}  # fmt: skip
"""Modules that a role needs beside its own and that take seconds to import (Inductor: 2 s of CPU time). They are
imported before the first child of that role is forked, so that all later ones have them."""

MOST_DESCRIPTORS = 2
"""Maximum number of file descriptors with a command: the child's channel, and shared memory."""


def main(argv: list[str]) -> int:
    control = socket.socket(fileno=int(argv[0]))
    end_with(int(argv[1]))
    os.dup2(2, 1)  # a print goes to the log
    gc.disable()  # the imports below take a quarter longer with it
    import torch
    import triton
    import triton.compiler
    import triton.language

    if os.environ.get("TRITON_INTERPRET") != "1":  # this server starts recorders, the interpreting one does not
        import torch._dynamo  # torch imports it at the first call under a mode: 1.1 s in every recorder
    for module in ROLES.values():
        importlib.import_module(module)
    if threading.active_count() != 1:
        raise RuntimeError(f"forking needs one thread, found {threading.active_count()} after the imports")
    torch.set_num_threads(max(1, int(argv[2]) // 2))
    gc.freeze()  # otherwise garbage collection in a child visits, and so copies, every imported object
    gc.enable()
    adopt_orphans()
    children: set[int] = set()
    ended: dict[int, int] = {}
    reply(control, {"ready": True, "torch": str(torch.__version__), "triton": str(triton.__version__)})
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 << 16, MOST_DESCRIPTORS)
        if not data:
            return 0
        command = codec.decode(data, Spawn | Poll)  # type: ignore[arg-type]
        if isinstance(command, Spawn):
            import_late(command.role)
            pid = spawn(command, descriptors, control)
            children.add(pid)
            reply(control, pid)
        else:
            for pid, status in reap():
                if pid in children:
                    ended[pid] = status
            reply(control, ended.pop(command.pid, None))


def import_late(role: str) -> None:
    """Import what the children of `role` need late. Where that fails, the child itself fails with the same error."""
    if role in LATE and LATE[role][0] not in sys.modules:
        try:
            for module in LATE[role]:
                importlib.import_module(module)
        except Exception:  # noqa: BLE001 - whatever an import of torch raises
            traceback.print_exc()
        tempfile.tempdir = None  # Inductor asks for it; a child has its own folder
        gc.freeze()


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants (a child subreaper), so that they are reaped on a machine
    whose init does not do it."""
    with contextlib.suppress(OSError):  # then orphans go to init
        libc("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with(parent: int) -> None:
    """Have the Linux kernel kill this process when its parent ends for any reason. Otherwise an import of torch would
    go on for seconds, an endless kernel for ever."""
    with contextlib.suppress(OSError):  # then only `ForkServer.close`, `Child.kill` and limits end this process
        libc("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def reap() -> Iterator[tuple[int, int]]:
    """Process id and exit status of every descendant that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def reply(control: socket.socket, message: object) -> None:
    control.sendall(msgspec.json.encode(message))


def spawn(command: Spawn, descriptors: list[int], control: socket.socket) -> int:
    """Fork one child in a new session and return its process id.

    descriptors: the child's channel, then the file descriptors that it gets as its option `descriptors`.
    """
    server = os.getpid()
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    status = 1
    try:
        end_with(server)
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        control.close()
        channel = Channel(socket.socket(fileno=descriptors[0]))
        if command.log:
            log = os.open(command.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.close(log)
        faulthandler.enable()
        options = msgspec.structs.replace(command.options, descriptors=tuple(descriptors[1:]))
        importlib.import_module(ROLES[command.role]).main(channel, options)
        status = 0
    except BaseException:  # SystemExit too: the log of this process has to show why it ended
        traceback.print_exc()
        raise
    finally:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # a problem's code may have replaced sys.stderr
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
