"""`timeout_s` bounds a whole exchange, whatever a server does, and `close` ends it at once."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from kernelwright.errors import ProviderError
from kernelwright.llm.http import JsonClient, Patience
from raw_server import Answer, dripping, raw_server, silent

IMPATIENT = Patience(attempts=1, attempt_s=0.1, deadline_s=600.0)
FAR = 600.0
"""Seconds after which an exchange counts as endless."""
OK = b"HTTP/1.1 200 OK\r\n"


def flood(connection: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


ENDLESS: dict[str, Answer] = {
    "nothing": silent,
    "the status line by the byte": dripping(b"", b"H", 0.02),
    "one header line by the byte": dripping(OK + b"X-Long: ", b"y", 0.02),
    "header lines one by one": dripping(OK, b"X-More: y\r\n", 0.05),
    "interim answers": flood,
    "interim answers one by one": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.02),
    "a body without a length": dripping(OK + b"Connection: close\r\n\r\n[", b" ", 0.02),
    "a body with a length": dripping(OK + b"Content-Length: 1000000\r\n\r\n[", b" ", 0.02),
    "chunks": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", 0.02),
    "the size of a chunk": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0", 0.02),
}


def outcome(url: str, client: JsonClient, document: object = None) -> str:
    """What the client says in the end; it is asked in a thread, so that one that never ends fails the test."""
    said: list[str] = []

    def ask() -> None:
        try:
            client.post(url, {}, document)
        except ProviderError as error:
            said.append(str(error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(FAR)
    assert not thread.is_alive(), "the exchange has no end"
    return said[0]


@pytest.mark.parametrize("what", ENDLESS)
def test_an_answer_without_end_is_cut_off(what: str) -> None:
    with raw_server(ENDLESS[what]) as url:
        assert "did not answer in time" in outcome(url, JsonClient(IMPATIENT))


def test_a_server_that_does_not_read_the_question_is_cut_off() -> None:
    with raw_server(silent) as url:
        assert "did not answer in time" in outcome(url, JsonClient(IMPATIENT), "x" * (32 << 20))


def test_no_thread_is_left_behind() -> None:
    before = {thread for thread in threading.enumerate() if thread.name == "kernelwright-http"}
    with raw_server(ENDLESS["header lines one by one"]) as url:
        outcome(url, JsonClient(IMPATIENT))
        end_s = time.monotonic() + FAR
        while {t for t in threading.enumerate() if t.name == "kernelwright-http"} - before:
            assert time.monotonic() < end_s, "the thread of the exchange goes on"
            time.sleep(0.01)


@pytest.mark.parametrize("what", ["nothing", "header lines one by one", "a body without a length"])
def test_closing_a_client_ends_what_is_under_way(what: str) -> None:
    client = JsonClient(Patience(attempts=3, attempt_s=10 * FAR, deadline_s=20 * FAR))
    with raw_server(ENDLESS[what]) as url:
        threading.Timer(0.1, client.close).start()
        assert "was given up" in outcome(url, client)
        assert "was given up" in outcome(url, client), "nor does it begin another"


def test_closing_a_client_ends_a_wait_between_attempts() -> None:
    def busy(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n")

    client = JsonClient(Patience(attempts=3, attempt_s=10 * FAR, deadline_s=20 * FAR))
    with raw_server(busy) as url:
        threading.Timer(0.1, client.close).start()
        assert "was given up" in outcome(url, client)
