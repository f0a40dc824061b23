"""Runs Python programs one after the other, each in a fork of a process that has imported torch and its compiler.

These imports take 4 s of processor time, a fork milliseconds. As with `PYTHONPATH=folder python -m module`, nothing of
the packages in `folder` was imported before. Not for a test of what a program imports: in a fork, torch and Triton are
there already. A request is a line of JSON, the fields of `Request`; the answer is another, the fields of `Ended`.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, NoReturn

IMPORTED = ("torch", "triton", "torch._dynamo", "torch._inductor.compile_fx", "torch.export._trace")


@dataclass(frozen=True)
class Request:
    """A program: the name of a module in `folder`, or the path of a file. words: its arguments. variables: of its
    environment, besides those of the tests."""

    folder: str
    program: str
    words: tuple[str, ...]
    variables: dict[str, str]


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


class Programs:
    """Runs programs; starts the process that they are forks of at the first. Close it at the end."""

    def __init__(self) -> None:
        self.servers: dict[bool, subprocess.Popen[str]] = {}

    def __call__(
        self, folder: Path, program: str | Path, *words: str, interpret: bool = False, **variables: str
    ) -> Ended:
        """interpret: Triton interprets kernels instead of compiling them, which is decided when it is imported."""
        server = self.servers.get(interpret) or self._started(interpret)
        assert server.stdin is not None
        assert server.stdout is not None
        request = Request(str(folder), str(program), words, variables)
        print(json.dumps(asdict(request)), file=server.stdin, flush=True)
        return Ended(**json.loads(server.stdout.readline()))

    def _started(self, interpret: bool) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        self.servers[interpret] = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment | ({"TRITON_INTERPRET": "1"} if interpret else {}),
        )  # fmt: skip
        return self.servers[interpret]

    def close(self) -> None:
        for server in self.servers.values():
            server.kill()  # it would take a second to end by itself
            with server:
                pass


def answered(request: Request) -> Ended:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        pid = os.fork()
        if pid == 0:
            run(request, out, errors)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        errors.seek(0)
        return Ended(os.waitstatus_to_exitcode(status), out.read(), errors.read())


def run(request: Request, out: IO[str], errors: IO[str]) -> NoReturn:
    os.dup2(out.fileno(), 1)
    os.dup2(errors.fileno(), 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    os.environ.update(request.variables)
    sys.path[0] = request.folder  # in place of the folder of this file
    sys.argv = [request.program, *request.words]
    status = 0
    try:
        if request.program.endswith(".py"):
            runpy.run_path(request.program, run_name="__main__")
        else:
            runpy.run_module(request.program, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - as Python does at the end of a program
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    gc.disable()
    for module in IMPORTED:
        import_module(module)
    gc.freeze()  # otherwise garbage collection in a fork visits, and so copies, every imported object
    gc.enable()
    assert threading.active_count() == 1, "a fork has only the thread that forks"
    for line in sys.stdin:
        print(json.dumps(asdict(answered(Request(**json.loads(line))))), flush=True)
