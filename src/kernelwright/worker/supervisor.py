"""The supervisor: one per GPU, JSON lines on standard input and output, started as `python -m kernelwright.worker`.

It never imports torch. Threads answer the requests, so that one candidate is recorded and compiled while another uses
the GPU. Calls and answers are the records of `model.call`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn, TextIO

import msgspec

from kernelwright import __version__, codec
from kernelwright.cache import Cache
from kernelwright.errors import ConfigError, KernelwrightError, MachineError, WorkerError
from kernelwright.model import (
    PROTOCOL,
    BenchCandidates,
    Close,
    CompileCandidate,
    DescribeEnvironment,
    DescribeMachine,
    EvaluateCandidate,
    FromWorker,
    GenerateText,
    Hello,
    LoadProblem,
    Ping,
    ProfileCandidate,
    ProfileFramework,
    QualifyProblem,
    Raised,
    Returned,
    ToWorker,
)
from kernelwright.worker.gpus import uuid_of
from kernelwright.worker.machine import machine
from kernelwright.worker.processes.children import kill_all
from kernelwright.worker.processes.forkserver import adopt_orphans
from kernelwright.worker.processes.limits import Limits, usable_cores
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.processes.scratch import keep_short, make_scratch, remove
from kernelwright.worker.profile.operation import profile
from kernelwright.worker.session import Session
from kernelwright.worker.stages.compare import bench
from kernelwright.worker.stages.evaluate import evaluate
from kernelwright.worker.stages.generate import generate
from kernelwright.worker.stages.precompile import precompile
from kernelwright.worker.stages.qualify import qualify

AT_ONCE = 16
"""Minimum number of concurrent requests: most of the time each waits for compilers or for the lease. A machine with
more cores runs as many requests as it has cores, so that every core has a compiler."""


CACHE_VARIABLE = "KERNELWRIGHT_COMPILE_CACHE"
"""Environment variable with the folder of the compile cache, used without --compile-cache. The worker's children do
not see it."""


def main() -> NoReturn:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a print goes to the log, not between the answers
    options = arguments().parse_args()
    adopt_orphans()  # so that `kill_all` can wait for every descendant
    ending = Ending(make_scratch())
    keep_short(ending.scratch)
    signal.signal(signal.SIGTERM, ending.on_signal)
    requests: SimpleQueue[Any] = SimpleQueue()
    out = Answers(answers)
    threading.Thread(target=read, args=(requests, ending, out), daemon=True).start()
    try:
        ending.end(supervise(out, requests, ending, options))
    except Exception:  # noqa: BLE001 - our own fault, reported before this process ends
        traceback.print_exc()
        ending.end(2)


class Ending:
    """Shutdown of a supervisor: kills its children and removes its scratch folder, once. Any thread may start it at any
    moment."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self._threads: list[int] = []
        """Threads that called `end`, in order; the first one does the shutdown. There is no lock, because a signal may
        interrupt the thread that already does it."""

    def end(self, status: int) -> NoReturn:
        """Kill the children, remove the scratch folder and exit. Does not wait for running threads: nobody would read
        their answers."""
        self._threads.append(threading.get_ident())
        while self._threads[0] != threading.get_ident():
            signal.pause()
        try:
            kill_all()
            remove(self.scratch)
        finally:
            os._exit(status)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Signal handler that starts the shutdown; does nothing if this thread already does it."""
        if self._threads[:1] != [threading.get_ident()]:
            self.end(128 + number)


class Answers:
    """Writer of answers, one JSON line each. Thread-safe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, answer: FromWorker) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):  # the client has ended; `read` notices
            self._stream.write(json.dumps(codec.plain(answer)) + "\n")
            self._stream.flush()


def read(requests: SimpleQueue[Any], ending: Ending, answers: Answers) -> None:
    """Queue every request until `close` or the end of the input. A ping is answered here, so that it shows that the
    process is alive even while all threads are busy."""
    for line in sys.stdin:
        request = json.loads(line)
        if request["verb"] == Close().verb:
            break
        if request["verb"] == Ping().verb:
            answers.send(Returned(id=request["id"], value=None))
        else:
            requests.put(request)
    ending.end(0)


def supervise(answers: Answers, requests: SimpleQueue[Any], ending: Ending, options: argparse.Namespace) -> int:
    """Answer requests until `ending`; returns an exit status if the worker cannot start. options: see `arguments`."""
    try:
        if options.gpu is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = uuid_of(options.gpu)
        cache = Cache(options.compile_cache) if options.compile_cache else None
        processes = Processes(ending.scratch, options.target, limits_of(options.limits), cache, cores_of(options))
    except KernelwrightError as error:
        answers.send(failure(None, error))
        return 2
    session = Session(processes, options.weak_sandbox)
    answers.send(Returned(id=None, value=codec.plain(hello(processes))))
    threads = ThreadPoolExecutor(max_workers=max(AT_ONCE, processes.cores))
    while True:
        threads.submit(serve, session, requests.get(), answers)


def cores_of(options: argparse.Namespace) -> int:
    return max(1, (options.cores or usable_cores()) // int(options.share))


def hello(processes: Processes) -> Hello:
    machine, versions = processes.machine, processes.compilers.ready()
    return Hello(
        protocol=PROTOCOL, kernelwright=__version__, host=socket.gethostname(), device=machine.device,
        gpu=machine.uuid, target=processes.target.name, driver=machine.driver, torch=versions["torch"],
        triton=versions["triton"], cores=processes.cores,
    )  # fmt: skip


def cores(text: str) -> int:
    """A number of cores as typed; raises ValueError."""
    count = int(text)
    if count < 1:
        raise ValueError
    return count


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kernelwright.worker", description=__doc__)
    parser.add_argument("--target", help="compile target on a machine without a GPU, such as sm_90")
    parser.add_argument("--limits", default="{}", help='JSON of time limits, such as {"replay_s": 5}')
    parser.add_argument(
        "--cores", type=cores, metavar="N", help="compile on N cores (default: every core that this process may use)"
    )
    parser.add_argument("--gpu", type=int, metavar="N", help="use only the GPU with this number, counted from 0")
    parser.add_argument(
        "--share", type=cores, default=1, metavar="N", help="divide the cores of this machine among N workers"
    )
    parser.add_argument(
        "--weak-sandbox", action="store_true", help="run candidates where their code can reach what is the user's"
    )
    cache = os.environ.get(CACHE_VARIABLE)
    parser.add_argument(
        "--compile-cache", type=Path, metavar="DIR", default=Path(cache) if cache else None,
        help=f"keep compiled kernels in DIR, for later workers of this machine; by default ${CACHE_VARIABLE}, or none",
    )  # fmt: skip
    return parser


def limits_of(text: str) -> Limits:
    """The limits in a JSON object; raises ConfigError."""
    try:
        return codec.decode(text, Limits)
    except msgspec.DecodeError as error:
        known = ", ".join(Limits.__struct_fields__)
        raise ConfigError(f"--limits {text}: {error}", f"expected seconds by name; known: {known}") from error


def serve(session: Session, request: dict[str, Any], answers: Answers) -> None:
    """Answer one call. request: the decoded JSON line."""
    number = request["id"]
    try:
        answer: FromWorker = Returned(id=number, value=codec.plain(respond(session, called(request))))
    except KernelwrightError as error:
        answer = failure(number, error)
    except Exception as error:  # noqa: BLE001 - the coordinator must hear of our own faults, not wait for ever
        traceback.print_exc()
        answer = failure(number, WorkerError(f"{type(error).__name__} in {request['verb']}: {error}"))
    answers.send(answer)


def called(request: dict[str, Any]) -> ToWorker:
    """A request as a record; raises WorkerError if it is malformed."""
    try:
        call: ToWorker = codec.record(request, ToWorker)  # type: ignore[arg-type]
    except msgspec.ValidationError as error:
        raise WorkerError(f"the worker cannot read what it is asked: {error}") from error
    return call


def respond(session: Session, call: ToWorker) -> Any:
    match call:
        case CompileCandidate() | EvaluateCandidate() | BenchCandidates() | ProfileCandidate() if session.sandbox[1]:
            raise MachineError(session.sandbox[1])
        case DescribeEnvironment():
            return session.environment()
        case DescribeMachine():
            return machine(session.processes)
        case LoadProblem(path=path, loading=loading, files=files):
            path = str(place_files(session.processes.scratch, files) / path) if files else path
            return session.load(path, loading)
        case QualifyProblem(every=every):
            return qualify(session, every)
        case GenerateText():
            return generate(session)
        case CompileCandidate(candidate=candidate, purpose=purpose):
            return precompile(session, candidate, purpose)
        case EvaluateCandidate(candidate=candidate, purpose=purpose, incumbent=incumbent):
            return evaluate(session, candidate, purpose, incumbent)
        case BenchCandidates(candidates=candidates, cases=cases, framework=framework, against=against):
            return bench(session, candidates, cases, framework, against)
        case ProfileCandidate(candidate=candidate, case=case, full=full):
            return profile(session, candidate, case, full)
        case ProfileFramework(name=name, case=case, full=full):
            return profile(session, name, case, full)
        case Ping() | Close():
            raise WorkerError("the worker answers this when it reads it")


def place_files(scratch: Path, files: Mapping[str, bytes]) -> Path:
    """Write a problem's files and return their folder, whose name is a hash of their paths and contents. Raises
    WorkerError for a path that leads out of the folder."""
    folder = scratch / "problems" / codec.sha(codec.encode([[name, files[name]] for name in sorted(files)]))[:16]
    for name, content in files.items():
        file = folder / name
        if not file.resolve().is_relative_to(folder.resolve()):
            raise WorkerError(f"a problem's file is called {name!r}, which leads out of its folder")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def failure(number: int | None, error: KernelwrightError) -> Raised:
    return Raised(id=number, error=Exception.__str__(error), kind=type(error).__name__, hint=error.hint)
