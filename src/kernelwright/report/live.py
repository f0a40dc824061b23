"""The report page of a run at work, over HTTP on the loopback, kept up to date by server-sent events.

Reading never disturbs the run: the journal is opened read-only and for a moment, it is read as a whole only when it has
new events, and pages are made only when a browser asks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kernelwright.codec import encode
from kernelwright.errors import RunFolderError
from kernelwright.journal import Event, Journal, fold, last_seq, writer
from kernelwright.report.page import html_page
from kernelwright.report.progress import Progress
from kernelwright.report.view import read_run
from kernelwright.run import StopReason
from kernelwright.text.escape import legible

log = logging.getLogger(__name__)

HOST = "127.0.0.1"

LOOK_S = 0.5
"""How often a stream looks whether there are new events."""

RENEW_S = 2.0
"""The least time between two pages."""

REST = 4
"""Wait at least this many times the last render time (half a second for tens of trials): the run needs the CPU."""

LAST_S = 10.0
"""How long a run that is over is served on, so that its last page reaches the browsers that follow it."""

NOT_OVER = (StopReason.WAITING.value, StopReason.PAUSED.value)
"""Ends of a session after which others go on with the run."""

SIGN_OF_LIFE_S = 15.0
"""How often a quiet stream says something, so that a browser which left is noticed."""


class LiveRun:
    """What is known of the run in `folder` now. Thread-safe: each request runs in a separate thread."""

    def __init__(self, folder: Path) -> None:
        """Raises `RunFolderError` where the folder holds no run."""
        self.folder = folder
        self._one_at_a_time = threading.Lock()
        self._progress, self._seq = self._read()
        self.renew_s = RENEW_S
        """How long the next page may wait after the last."""

    def rows(self) -> list[tuple[str, str]]:
        """State of the run, for the top of the page."""
        with self._one_at_a_time:
            self._look()
            return self._progress.rows(datetime.now().astimezone())

    def seq(self) -> int:
        """Of the last event."""
        with self._one_at_a_time:
            self._look()
            return self._seq

    def over(self) -> str | None:
        """Why nothing more comes of the run; None while it is at work, is paused or waits for replies."""
        with self._one_at_a_time:
            self._look()
            stopped = self._progress.stopped
        if stopped is None:
            return "no search is at work" if writer(self.folder) is None else None
        return None if stopped in NOT_OVER else legible(stopped)

    def page(self) -> str:
        rows, began_s = self.rows(), time.monotonic()
        with Journal.open(self.folder) as journal:
            page = html_page(read_run(journal), live=rows)
        self.renew_s = max(RENEW_S, REST * (time.monotonic() - began_s))
        return page

    def _look(self) -> None:
        if last_seq(self.folder) != self._seq:
            self._progress, self._seq = self._read()

    def _read(self) -> tuple[Progress, int]:
        with Journal.open(self.folder) as journal:
            events: list[Event] = journal.history()
            return Progress(journal.info, fold(events)), events[-1].seq if events else 0


def messages(run: LiveRun, ended: threading.Event) -> Iterator[bytes]:
    """Server-sent events until `ended`: `status` with the rows whenever they differ, `changed` after new events of the
    run, and now and then a comment."""
    rows, seq = run.rows(), run.seq()
    renewed_s = spoke_s = time.monotonic()
    while not ended.wait(LOOK_S):
        now_s = time.monotonic()
        try:
            fresh_rows, fresh_seq = run.rows(), run.seq()
        except RunFolderError as error:  # the folder is being moved, or was removed
            log.warning("%s", error)
            continue
        if fresh_seq != seq and now_s - renewed_s >= run.renew_s:
            seq, renewed_s, spoke_s = fresh_seq, now_s, now_s
            yield _message("changed", seq)
        if fresh_rows != rows:
            rows, spoke_s = fresh_rows, now_s
            yield _message("status", rows)
        if now_s - spoke_s >= SIGN_OF_LIFE_S:
            spoke_s = now_s
            yield b": still here\n\n"


def _message(name: str, content: object) -> bytes:
    return f"event: {name}\ndata: ".encode() + encode(content) + b"\n\n"


class RunIsOver(Exception):
    """Ends a server. Its text says why the run is over."""


class LiveServer(ThreadingHTTPServer):
    """Serves one run on the loopback; `server_address` says where. port 0: any that is free. last_s: how long a run
    that is over is served; then `serve_forever` raises `RunIsOver`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, run: LiveRun, port: int, last_s: float = LAST_S) -> None:
        super().__init__((HOST, port), _Handler)
        self.run = run
        self.ended = threading.Event()
        self._last_s = last_s
        self._over_s: float | None = None

    def service_actions(self) -> None:
        """Called by `serve_forever` about twice a second. A run that goes on was not over."""
        try:
            why = self.run.over()
        except RunFolderError:  # the folder is being moved, or was removed
            return
        now_s = time.monotonic()
        if why is None:
            self._over_s = None
        elif self._over_s is None:
            self._over_s = now_s
        if why is not None and self._over_s is not None and now_s - self._over_s >= self._last_s:
            raise RunIsOver(why)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def server_close(self) -> None:
        self.ended.set()
        super().server_close()


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer
    server_version = "kernelwright"
    sys_version = ""

    def do_GET(self) -> None:
        """A page elsewhere that resolves to the loopback (DNS rebinding) comes with another Host and is refused."""
        if self.headers.get("Host", "") not in self._names():
            self.send_error(HTTPStatus.FORBIDDEN, "this page is served to this machine only")
        elif self.path == "/":
            self._page()
        elif self.path == "/events":
            self._stream()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _names(self) -> set[str]:
        return {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}

    def _page(self) -> None:
        try:
            body = self.server.run.page().encode()
        except RunFolderError as error:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, "the run cannot be read", str(error))
            return
        self._begin("text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._write(body)

    def _stream(self) -> None:
        self._begin("text/event-stream")
        self.end_headers()
        for message in messages(self.server.run, self.server.ended):
            if not self._write(message):
                return

    def _begin(self, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")

    def _write(self, content: bytes) -> bool:
        """Whether the browser is still there."""
        try:
            self.wfile.write(content)
            self.wfile.flush()
        except ConnectionError:
            return False
        return True

    def log_message(self, format: str, *values: object) -> None:
        log.debug(format, *values)
