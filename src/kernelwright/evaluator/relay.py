"""A relay: the lines of a client's standard streams to a worker that is reached by calls instead of a pipe, and back.

`Supervised` is the other end: it owns the worker's process where the GPU is. What carries the calls between the two is
in another file (`ray_place`), so this one needs nothing but Python.
"""

from __future__ import annotations

import contextlib
import enum
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TextIO

BEAT_S = 5.0
"""The longest that `receive` waits for something to return."""

SILENT_S = 20.0
"""Until a worker's host that does not answer is given up: before its client misses three pings of 10 s, because the
client cannot know that a connection is the cause."""

FORSAKEN_S = 60.0
"""Until a worker that nobody asks for its answers is ended: its GPU may be given to another meanwhile. Longer than
`SILENT_S`, so that it never ends a worker that is still waited for."""

OUTSIDE = 128 + signal.SIGTERM
"""The exit status for a worker that was lost by a cause outside: a client takes it for asked to end (see `client`)."""

KILLED = 128 + signal.SIGKILL
"""The exit status for a worker whose process, or the one that owns it, is gone for no known reason."""


class Stream(enum.Enum):
    """Where a line belongs. END: the worker ended, and the line is its exit status."""

    OUT = "out"
    ERR = "err"
    END = "end"


Line = tuple[str, str]
"""The value of a `Stream` and a text: plain values, because no class of this program needs to travel."""


class Gone(Exception):
    """The other end cannot be reached any more. from_outside: by a cause that no candidate can be."""

    def __init__(self, why: str, from_outside: bool) -> None:
        super().__init__(why)
        self.from_outside = from_outside


class Far(Protocol):
    """Calls of a `Supervised` elsewhere. Each may raise `Gone`."""

    def send(self, line: str) -> None: ...

    def receive(self) -> Sequence[Line]: ...

    def end(self) -> None: ...


class Supervised:
    """A worker's process and its lines. It ends with this process, and when nobody asks for its answers."""

    def __init__(self, argv: Sequence[str], forsaken_s: float = FORSAKEN_S) -> None:
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=without_tokens(os.environ),
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
        with contextlib.suppress(OSError, ValueError):  # it ended, which `receive` says
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def receive(self, beat_s: float = BEAT_S) -> list[Line]:
        """The lines since the last call; waits for the first of them, and no longer than beat_s."""
        self._asked_s = time.monotonic()
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._lines.get(timeout=beat_s))
            while True:
                found.append(self._lines.get_nowait())
        return found

    def end(self) -> None:
        """Its input ends; it does what it does then."""
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
            reader.join(1)  # a child that survives it may have its streams
        self._lines.put((Stream.END.value, str(status)))

    def _watch(self, forsaken_s: float) -> None:
        while self._process.poll() is None:
            time.sleep(min(1.0, forsaken_s / 4))
            if time.monotonic() - self._asked_s > forsaken_s:
                self._process.terminate()
                return


def without_tokens(environment: os._Environ[str] | dict[str, str]) -> dict[str, str]:
    """The variables without those that let a process join a cluster: a worker has no use for them."""
    return {name: value for name, value in environment.items() if not name.startswith("RAY_AUTH_TOKEN")}


def relay(far: Far, requests: Iterable[str], answers: TextIO, messages: TextIO) -> int:
    """Pass lines on until the worker ends or is gone; the exit status, as a shell gives that of a killed process."""
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
    with contextlib.suppress(Gone):  # the other direction says so
        for line in requests:
            far.send(line)
        far.end()


def is_from_outside(error: Any, is_up: Callable[[], bool]) -> bool:
    """Whether what Ray says of an actor's end is a cause that no candidate can be: a connection, a node, a preemption.
    is_up: whether its node is."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "ActorDiedError" in names:
        return bool(error.preempted) or not is_up()
    return bool(names & {"ActorUnavailableError", "GetTimeoutError", "NodeDiedError", "LocalRayletDiedError"})


def tell(text: str, messages: TextIO | None = None) -> None:
    into = messages or sys.stderr
    into.write(text + "\n")
    into.flush()


def run(connect: Callable[[Sequence[str]], Far], words: Sequence[str], answers: TextIO) -> int:
    """A relay of this process's own streams, with answers on another one. connect: takes the worker's options; raises
    `Gone` where there is none."""
    try:
        far = connect(words)
    except Gone as error:
        tell(str(error))
        return 1
    return relay(far, sys.stdin, answers, sys.stderr)
