"""The client of a worker process: requests and answers are lines of JSON on the process's standard streams.

This file never imports the worker.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from kernelwright import __version__, codec, errors
from kernelwright.model import (
    AS_KEPT,
    PROTOCOL,
    BenchCandidates,
    BenchReport,
    Candidate,
    Close,
    CompileCandidate,
    DescribeEnvironment,
    DescribeMachine,
    Environment,
    EvaluateCandidate,
    Evaluation,
    FromWorker,
    Generated,
    GenerateText,
    Hello,
    Incumbent,
    LaneChange,
    Loading,
    LoadProblem,
    Machine,
    Ping,
    ProblemInfo,
    Profile,
    ProfileCandidate,
    ProfileFramework,
    QualificationReport,
    QualifyProblem,
    Raised,
    Returned,
    ToWorker,
)
from kernelwright.problems.copies import contents_of
from kernelwright.python import OWN, hide_keys, named_variables, without_keys
from kernelwright.text.ending import how_ended
from kernelwright.text.escape import legible

T = TypeVar("T")

warn: Callable[[str], object] = logging.getLogger(__name__).warning

QUIET_S = 5.0
"""After this wait for a worker's first message, a line tells the user."""

HELLO_S = 330.0
"""Longest wait for a worker's first message. The worker's own limits end first, with more exact errors: 180 s for
importing torch and Triton, then 120 s for describing the GPU."""

PING_S = 10.0
"""Interval between two pings, and the time limit of each. A worker answers pings from its reading thread."""

PINGS_MISSED = 3
"""A worker that misses this many pings in a row is killed. Pings are counted instead of seconds, because a coordinator
that was itself paused misses at most one."""

PING = -1
"""The request number of every ping: only one ping is sent at a time."""

GONE_S = 10.0
"""How long to wait for the exit status of a worker that closed its output. A killed process needs milliseconds, on a
busy machine seconds; without the status its end counts for the candidate."""

OUTSIDE = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that ask a process to end. The kernel's out-of-memory killer sends none of them."""

SSH_LOST = 255
"""The exit status of ssh when its connection is lost."""


class ProcessWorker:
    """A worker process, started by a command. Use as a context manager, or call `close`. hello: the worker's first
    message."""

    def __init__(
        self,
        argv: Sequence[str],
        target: str | None = None,
        limits: dict[str, float] | None = None,
        environment: Mapping[str, str] | None = None,
        is_remote: bool = False,
        hello_s: float = HELLO_S,
        notify: Callable[[str], object] = warn,
    ) -> None:
        """argv: the command that starts the worker. target: compile target on a machine without a GPU. limits: seconds,
        by the names of the worker's `limits.py`. environment: extra environment variables. is_remote: whether the
        worker sees another disk, so that problems are sent as their contents. hello_s: longest wait for its first
        message. notify: takes a line for the user. Raises MachineError if kernelwright, torch or Triton is missing."""
        hide_keys()
        command = [*argv]
        self._is_remote = is_remote
        command += [*(["--target", target] if target else []), *(["--limits", json.dumps(limits)] if limits else [])]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
                env={**(without_keys() if is_remote else named_variables(*OWN)), **(environment or {})},
            )  # fmt: skip
        except OSError as error:
            raise errors.MachineError(f"cannot start a worker by {command[0]}: {error.strerror}") from error
        self.ended: errors.WorkerLost | None = None
        self.silent = ""
        self.closing = threading.Event()
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.waiting: dict[int | None, Future[Any]] = {None: Future()}
        ready = self.waiting[None]
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        try:
            self.hello = greeted(first_message(ready, hello_s, notify))
        except errors.WorkerLost as error:
            self.close()
            raise self._never_began(command, error) from error
        except errors.KernelwrightError:
            self.close()
            raise
        except BaseException:  # an interrupt: without the signal the worker would go on importing torch
            self.process.terminate()
            self.close()
            raise
        threading.Thread(target=self._ping, daemon=True).start()

    def environment(self) -> Environment:
        return self._ask(DescribeEnvironment(), Environment)

    def machine(self) -> Machine:
        return self._ask(DescribeMachine(), Machine)

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        where, files = contents_of(path) if self._is_remote else (os.path.abspath(path), {})
        return self._ask(LoadProblem(path=where, loading=loading, files=files), ProblemInfo)

    def qualify(self, every: bool = False) -> QualificationReport:
        return self._ask(QualifyProblem(every=every), QualificationReport)

    def generate(self) -> Generated:
        return self._ask(GenerateText(), Generated)

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        return self._ask(CompileCandidate(candidate=candidate, purpose=purpose), Evaluation)

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        return self._ask(EvaluateCandidate(candidate=candidate, purpose=purpose, incumbent=incumbent), Evaluation)

    def bench(
        self,
        candidates: dict[str, Candidate],
        cases: tuple[str, ...] = (),
        max_autotune: bool = False,
        compile: bool = True,
        against: str | None = None,
    ) -> BenchReport:
        framework = ("eager", *["compile"] * compile, *["compile_max_autotune"] * max_autotune)
        call = BenchCandidates(
            candidates=candidates, cases=cases, framework=framework if against is None else (), against=against
        )
        return self._ask(call, BenchReport)

    def profile(self, implementation: Candidate | str, case: str, full: bool = False) -> Profile:
        if isinstance(implementation, str):
            return self._ask(ProfileFramework(name=implementation, case=case, full=full), Profile)
        return self._ask(ProfileCandidate(candidate=implementation, case=case, full=full), Profile)

    def elsewhere(self) -> None:
        """None, because the worker has one GPU."""
        return None

    def watch(self, notify: Callable[[LaneChange], None] | None) -> None:
        """Does nothing, because a single worker has no lanes."""

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.closing.set()
        with contextlib.suppress(OSError, ValueError):
            self._write(Close())
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(OSError):
            self.process.stdout.close()

    def __enter__(self) -> ProcessWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, call: ToWorker, answer: type[T]) -> T:
        """The worker's answer as a record of this type."""
        if self.ended is not None:
            raise errors.WorkerLost.before(self.ended)
        number = next(self.numbers)
        future: Future[Any] = Future()
        self.waiting[number] = future
        try:
            self._write(msgspec.structs.replace(call, id=number))
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            self.reader.join(2 * GONE_S)  # the reader sets the reason
            raise self.ended or errors.WorkerLost(f"the worker ended before {call.verb}") from error
        if self.ended is not None and not future.done():
            raise self.ended
        return codec.record(future.result(), answer)

    def _write(self, call: ToWorker) -> None:
        with self.lock:
            self._send(call)

    def _send(self, call: ToWorker) -> None:
        """Write a message. The caller holds the lock."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(codec.plain(call)) + "\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        """Deliver each answer to the call that waits for it; when the worker ends, fail the calls that still wait."""
        assert self.process.stdout is not None
        why = ""
        with contextlib.suppress(ValueError):  # the stream was closed under us by `close`
            for line in self.process.stdout:
                if not self._answered(line):
                    why = f"the worker said {line.strip()[:200]!r}, which is no answer"
                    break
        status = None if why or self.silent else self._status()
        ended = f"the worker ended without an answer{'' if status is None else f' (it {how_ended(status)})'}"
        lost = errors.WorkerLost(why or self.silent or ended, "see its messages above")
        lost.from_outside = status is not None and self._was_asked_to_end(status)
        self.ended = lost  # only now: another thread raises it as soon as it is there
        for future in list(self.waiting.values()):
            if not future.done():
                future.set_exception(lost)

    def _never_began(self, command: Sequence[str], error: errors.WorkerLost) -> errors.KernelwrightError:
        """The error of a worker that ended before its hello: `error`, after which it may be started again, if it was
        killed or asked to end; else MachineError, because it would end by itself again."""
        status = self.process.returncode
        if status is None or status <= 0 or status - 128 in OUTSIDE:
            return error
        kind = errors.Unreachable if error.from_outside else errors.MachineError
        return kind(
            f"{Exception.__str__(error)}: {command[0]} ended with status {status} before there was a worker",
            f"see its messages above; the worker's host needs: pip install 'kernelwright[gpu]=={__version__}'",
        )

    def _status(self) -> int | None:
        try:
            return self.process.wait(GONE_S)
        except subprocess.TimeoutExpired:
            return None

    def _was_asked_to_end(self, status: int) -> bool:
        is_unreachable = self._is_remote and status == SSH_LOST
        return is_unreachable or -status in OUTSIDE or status - 128 in OUTSIDE

    def _ping(self) -> None:
        """Ping the worker until it ends. One that does not answer PINGS_MISSED pings in a row is killed."""
        missed = 0
        while self.ended is None and not self.closing.wait(0 if missed else PING_S):
            missed = 0 if self._is_there() else missed + 1
            if missed == PINGS_MISSED:
                self.silent = f"the worker answered no ping for {missed * PING_S:g} s"
                self.process.kill()
                return

    def _is_there(self) -> bool:
        """Whether the worker answers a ping in time, or has already ended. False also if the pipe is full because the
        worker stopped reading."""
        assert self.process.stdin is not None
        answer: Future[Any] = Future()
        self.waiting[PING] = answer
        if not self.lock.acquire(timeout=PING_S):
            return False
        try:
            writable = select.poll()
            writable.register(self.process.stdin, select.POLLOUT)
            if not writable.poll(PING_S * 1000):
                return False
            self._send(Ping(id=PING))
        except (OSError, ValueError):  # the worker ended or was closed; `_read` or `close` deals with that
            return True
        finally:
            self.lock.release()
        try:
            answer.result(PING_S)
        except TimeoutError:
            return False
        except errors.WorkerError:  # the worker ended
            return True
        return True

    def _answered(self, line: str) -> bool:
        """Pass an answer to the call that waits for it; False if the line is not an answer."""
        try:
            answer: FromWorker = codec.record(json.loads(line), FromWorker)  # type: ignore[arg-type]
        except ValueError:  # also the base class of msgspec's errors
            return False
        future = self.waiting.pop(answer.id, None)
        match answer:
            case _ if future is None:
                pass
            case Returned(value=value):
                future.set_result(value)
            case Raised():
                future.set_exception(error_of(answer))
        return True


def first_message(ready: Future[Any], hello_s: float, notify: Callable[[str], object]) -> Any:
    """Wait for a worker's first message; raises Unreachable after hello_s seconds."""
    try:
        return ready.result(QUIET_S)
    except TimeoutError:
        notify(f"waiting for the worker to start, for at most {hello_s:g} s…")
    try:
        return ready.result(hello_s - QUIET_S)
    except TimeoutError as error:
        raise errors.Unreachable(
            f"the worker did not start in {hello_s:g} s", "see its messages above, and how busy its host is"
        ) from error


def greeted(value: Any) -> Hello:
    """The first message of a worker; raises MachineError if its protocol version differs from this client's."""
    try:
        hello: Hello = codec.record(value, Hello)
    except msgspec.ValidationError:
        hello = None  # type: ignore[assignment]
    if hello is None or hello.protocol != PROTOCOL:
        theirs = value.get("kernelwright") if isinstance(value, dict) else None
        raise errors.MachineError(
            f"the worker is kernelwright {legible(str(theirs or 'of another version'))[:40]}, which cannot talk "
            f"to this one ({__version__})",
            "install the same version on both sides",
        )
    return hello


def error_of(raised: Raised) -> errors.KernelwrightError:
    """The exception that a worker reports; WorkerError if its class is not in `errors`."""
    kind = getattr(errors, raised.kind, None)
    if isinstance(kind, type) and issubclass(kind, errors.KernelwrightError):
        return kind(raised.error, raised.hint)
    return errors.WorkerError(raised.error, raised.hint)
