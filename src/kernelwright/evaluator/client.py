"""The client of a worker process: requests and answers are lines of JSON on the process's standard streams."""

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
from typing import Any, TypeVar

import msgspec

from kernelwright import __version__, codec, errors
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import PROTOCOL, Call, Close, FromWorker, Hello, LoadProblem, Ping, Raised, Returned
from kernelwright.problems.copies import contents_of
from kernelwright.python import OWN, hide_keys, how_ended, named_variables, python, without_keys
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


WEAK_SANDBOX = "KERNELWRIGHT_WEAK_SANDBOX"
"""Environment variable of the coordinator: 1 allows workers of this machine what `--weak-sandbox` allows."""


def local() -> list[str]:
    """The command of a worker process on this machine, with this Python."""
    return python("-m", "kernelwright.worker", *["--weak-sandbox"] * (os.environ.get(WEAK_SANDBOX) == "1"))


LAUNCHERS: dict[str, Callable[[], list[str]]] = {"local": local}


class ProcessWorker(Worker):
    """A worker process, started by a command. hello: the worker's first message."""

    def __init__(
        self,
        argv: Sequence[str] | None = None,
        target: str | None = None,
        limits: dict[str, float] | None = None,
        environment: Mapping[str, str] | None = None,
        is_remote: bool = False,
        hello_s: float = HELLO_S,
        notify: Callable[[str], object] = warn,
    ) -> None:
        """argv: the command that starts the worker; None: this Python, on this machine. target: compile target on a
        machine without a GPU. limits: seconds, by the names of the worker's `limits.py`. environment: extra environment
        variables. is_remote: whether the worker sees another disk, so that problems are sent as their contents.
        hello_s: longest wait for its first message. notify: takes a line for the user. Raises MachineError if
        kernelwright, torch or Triton is missing."""
        hide_keys()
        command = [*(argv or LAUNCHERS["local"]())]
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
            self.hello = read_hello(first_message(ready, hello_s, notify))
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

    def ask(self, call: Call[T]) -> T:
        if isinstance(call, LoadProblem):
            path, files = contents_of(call.path) if self._is_remote else (os.path.abspath(call.path), {})
            call = msgspec.structs.replace(call, path=path, files=files)  # type: ignore[arg-type]
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
        found: T = codec.record(future.result(), codec.parameter_of(type(call)))
        return found

    def _write(self, call: Call[Any]) -> None:
        with self.lock:
            self._send(call)

    def _send(self, call: Call[Any]) -> None:
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
                if not self._deliver(line):
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

    def _deliver(self, line: str) -> bool:
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


start_worker = ProcessWorker


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


def read_hello(value: Any) -> Hello:
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
