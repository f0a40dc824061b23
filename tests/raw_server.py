"""A server on the loopback that answers with bytes, as slowly and as wrongly as a test wants; not even HTTP is sure.

It reads nothing of what it is sent. The rule: it ends with the test, whatever its client does.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[[socket.socket, threading.Event], None]
"""Writes to a connection until it is done, fails, or the event says that the test is over."""


@contextmanager
def raw_server(answer: Answer) -> Iterator[str]:
    """The address of a server that gives every connection to `answer`, in a thread."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    open_ones: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            answer(connection, over)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                open_ones.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in open_ones:
            connection.close()
        accepting.join(5)


def dripping(head: bytes, piece: bytes, pause_s: float) -> Answer:
    """`head` at once, then `piece` for ever, with pauses."""

    def answer(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(head)
        while not over.wait(pause_s):
            connection.sendall(piece)

    return answer


def silent(connection: socket.socket, over: threading.Event) -> None:
    over.wait()
