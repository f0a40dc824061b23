"""The report page of a run at work, over HTTP on the loopback, kept up to date by server-sent events.

Reading never disturbs the run: the journal is opened read-only and for a moment, and only its new events are read. The
work does not grow with the clients: all share one look at the journal, and one page, made when a browser asks and kept
until the run has new events.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kernelwright.codec import encode
from kernelwright.errors import RunFolderError
from kernelwright.journal import History, Journal, RunState, last_seq, writer
from kernelwright.report.page import html_page
from kernelwright.report.progress import Progress
from kernelwright.report.view import view_of
from kernelwright.run import StopReason
from kernelwright.text.escape import legible

log = logging.getLogger(__name__)

HOST = "127.0.0.1"

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
    """What all clients see of the run in `folder`: the state, its rows and the last page. Thread-safe.

    `look` reads what the journal has in addition since the last look. rows: state of the run, for the top of the page.
    page_seq: last event of the page that a request gets; it is ahead of the page that is kept until one is made.
    """

    def __init__(self, folder: Path, render: Callable[..., str] = html_page, renew_s: float = RENEW_S) -> None:
        """Raises `RunFolderError` where the folder holds no run. renew_s: the least time between two pages."""
        self.folder, self._render = folder, render
        self.rows: list[tuple[str, str]] = []
        self.page_seq = 0
        self.is_closed = False
        self._news = threading.Condition()
        self._rendering = threading.Lock()
        self._page: tuple[int, bytes] | None = None
        self._renewed_s = -math.inf
        self._least_s = self._renew_s = renew_s
        self._begin()
        self.look()

    def _begin(self) -> None:
        with Journal.open(self.folder) as journal:
            self._info = journal.info
        self.state, self._history = RunState(), History()
        self._progress = Progress(self._info, self.state)

    def look(self) -> None:
        """Take what the journal has in addition, and wake those who wait for news."""
        with self._news:
            last = last_seq(self.folder)
            if last < self.state.seq:
                self._begin()  # another journal was put there
            if last != self.state.seq:
                with Journal.open(self.folder) as journal:
                    for event in journal.history(self.state.seq, self._history):
                        self.state.take(event)
            self.rows = self._progress.rows(datetime.now().astimezone())
            now_s = time.monotonic()
            is_due = now_s - self._renewed_s >= self._renew_s or self._progress.stopped is not None
            if self.state.seq != self.page_seq and is_due:
                self.page_seq, self._renewed_s = self.state.seq, now_s
            self._news.notify_all()

    def over(self) -> str | None:
        """Why nothing more comes of the run; None while it is at work, is paused or waits for replies."""
        stopped = self._progress.stopped
        if stopped is None:
            return "no search is at work" if writer(self.folder) is None else None
        return None if stopped in NOT_OVER else legible(stopped)

    def page(self) -> bytes:
        """The page as of `page_seq`, made once for all clients."""
        self.look()
        with self._rendering:
            seq = self.page_seq
            if self._page is None or self._page[0] != seq:
                began_s = time.monotonic()
                with Journal.open(self.folder) as journal:
                    with self.state.lock:
                        view = view_of(self.folder, self._info, self.state, journal.blob)
                    self._page = seq, self._render(view, live=self.rows, seq=seq).encode()
                self._renew_s = max(self._least_s, REST * (time.monotonic() - began_s))
            return self._page[1]

    def wait(self, seq: int | None, rows: list[tuple[str, str]] | None) -> bool:
        """Whether `page_seq` and `rows` differ from these, as soon as they do; False after `SIGN_OF_LIFE_S`, and once
        the run is closed."""
        with self._news:
            self._news.wait_for(lambda: self.is_closed or (self.page_seq, self.rows) != (seq, rows), SIGN_OF_LIFE_S)
            return not self.is_closed and (self.page_seq, self.rows) != (seq, rows)

    def close(self) -> None:
        """End what waits."""
        with self._news:
            self.is_closed = True
            self._news.notify_all()


def messages(run: LiveRun) -> Iterator[bytes]:
    """Server-sent events until the run is closed: first, and whenever they differ, `changed` with the last event of the
    page and `status` with the rows; and now and then a comment."""
    seq, rows = None, None
    while not run.is_closed:
        if not run.wait(seq, rows):
            yield b": still here\n\n"
        if run.page_seq != seq:
            seq = run.page_seq
            yield _message("changed", seq)
        if run.rows != rows:
            rows = run.rows
            yield _message("status", rows)


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
        self._last_s = last_s
        self._over_s: float | None = None

    def service_actions(self) -> None:
        """Called by `serve_forever` about twice a second. A run that goes on was not over."""
        try:
            self.run.look()
            why = self.run.over()
        except RunFolderError as error:  # the folder is being moved, or was removed
            log.warning("%s", error)
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
        self.run.close()
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
            body = self.server.run.page()
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
        for message in messages(self.server.run):
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
