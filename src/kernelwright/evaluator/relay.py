"""Relay between a client's standard streams and a worker that is reached by remote calls instead of a pipe.

`Supervised` is the remote end: it owns the worker process on the machine with the GPU. The transport of the calls is in
`ray_place`.
"""

from __future__ import annotations

import contextlib
import enum
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TextIO

from kernelwright.python import OWN, named_variables

WAIT_S = 600.0
"""Longest wait for a free GPU elsewhere; an autoscaling cluster may take some minutes."""

BEAT_S = 5.0
"""Longest wait of one `receive` call for a line."""

SILENT_S = 20.0
"""After this time without an answer the worker's host counts as lost. It is shorter than the client's three missed
pings of 10 s, because the client cannot know that the connection is the cause."""

FORSAKEN_S = 60.0
"""A worker is ended when no `receive` call came for this time, because its GPU may be assigned to another process by
then. It is longer than `SILENT_S`, so that no worker is ended while a client still waits for it."""

OUTSIDE = 128 + signal.SIGTERM
"""Exit status for a worker lost by an external cause: the client treats it as asked to end (see `client`)."""

KILLED = 128 + signal.SIGKILL
"""Exit status for a worker whose process, or the process that owns it, is gone for an unknown reason."""


class Stream(enum.Enum):
    """The stream that a line belongs to. END: the worker ended, and the line is its exit status."""

    OUT = "out"
    ERR = "err"
    END = "end"


Line = tuple[str, str]
"""The value of a `Stream` and a text: plain values, so that no class has to be serialized."""


class Gone(Exception):
    """The remote end is no longer reachable. from_outside: whether the cause is one that no candidate can produce."""

    def __init__(self, why: str, from_outside: bool) -> None:
        super().__init__(why)
        self.from_outside = from_outside


class Far(Protocol):
    """Remote calls to a `Supervised` on another machine. Each may raise `Gone`."""

    def send(self, line: str) -> None: ...

    def receive(self) -> Sequence[Line]: ...

    def end(self) -> None: ...


class Supervised:
    """A worker process and its lines. The worker ends with this process, and when no `receive` call comes for
    `forsaken_s` seconds."""

    def __init__(self, argv: Sequence[str], forsaken_s: float = FORSAKEN_S) -> None:
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=named_variables(*OWN),
        )  # fmt: skip
        self._lines: queue.SimpleQueue[Line] = queue.SimpleQueue()
        self._asked_s = time.monotonic()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        readers = [
            threading.Thread(target=self._read, args=(self._process.stdout, Stream.OUT), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stderr, Stream.ERR), daemon=True),
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._wait, args=(readers,), daemon=True).start()
        threading.Thread(target=self._watch, args=(forsaken_s,), daemon=True).start()

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # the worker ended, which `receive` reports
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def receive(self, beat_s: float = BEAT_S) -> list[Line]:
        """The lines since the last call; waits up to beat_s for the first one."""
        self._asked_s = time.monotonic()
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._lines.get(timeout=beat_s))
            while True:
                found.append(self._lines.get_nowait())
        return found

    def end(self) -> None:
        """Close the worker's standard input, which makes the worker end."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()

    def _read(self, stream: TextIO, name: Stream) -> None:
        with stream:
            for line in stream:
                self._lines.put((name.value, line))

    def _wait(self, readers: list[threading.Thread]) -> None:
        status = self._process.wait()
        self.end()
        for reader in readers:
            reader.join(1)  # a surviving child of the worker may keep its streams open
        self._lines.put((Stream.END.value, str(status)))

    def _watch(self, forsaken_s: float) -> None:
        while self._process.poll() is None:
            time.sleep(min(1.0, forsaken_s / 4))
            if time.monotonic() - self._asked_s > forsaken_s:
                self._process.terminate()
                return


def relay(far: Far, requests: Iterable[str], answers: TextIO, messages: TextIO) -> int:
    """Pass lines on until the worker ends or is gone; return its exit status, 128 + n if signal n killed it."""
    threading.Thread(target=_pass_on, args=(far, requests), daemon=True).start()
    try:
        while True:
            for stream, text in far.receive():
                if stream == Stream.END.value:
                    status = int(text)
                    return status if status >= 0 else 128 - status
                into = answers if stream == Stream.OUT.value else messages
                into.write(text)
                into.flush()
    except Gone as error:
        tell(f"the worker is lost: {error}", messages)
        return OUTSIDE if error.from_outside else KILLED


def _pass_on(far: Far, requests: Iterable[str]) -> None:
    with contextlib.suppress(Gone):  # the thread that receives reports it
        for line in requests:
            far.send(line)
        far.end()


def is_from_outside(error: Any, is_up: Callable[[], bool]) -> bool:
    """Whether Ray's error for an actor has a cause that no candidate can produce: a lost connection, a lost node, a
    preemption. is_up: whether the actor's node is alive."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "ActorDiedError" in names:
        return bool(error.preempted) or not is_up()
    return bool(names & {"ActorUnavailableError", "GetTimeoutError", "NodeDiedError", "LocalRayletDiedError"})


def tell(text: str, messages: TextIO | None = None) -> None:
    into = messages or sys.stderr
    into.write(text + "\n")
    into.flush()


def run(connect: Callable[[Sequence[str]], Far], words: Sequence[str], answers: TextIO) -> int:
    """Relay standard input to a worker, and its output to `answers`; return the exit status. connect: starts the worker
    with its options `words`; raises `Gone` if there is none."""
    try:
        far = connect(words)
    except Gone as error:
        tell(str(error))
        return OUTSIDE if error.from_outside else 1
    return relay(far, sys.stdin, answers, sys.stderr)
