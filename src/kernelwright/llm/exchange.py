"""One HTTP request and its answer, ended by a deadline whatever the server does, or at once when it is given up.

It retries nothing. The caller never waits for the network itself. The request runs in a thread, and what
bounds it is the caller's clock: a timeout of a socket begins again with every byte, so it ends neither dripped header
lines nor a flood of `100 Continue`. Giving up shuts the socket down, which ends the thread as well.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, Generic, TypeVar

import urllib3

T = TypeVar("T")

_here = threading.local()
"""`exchange`: the one that the current thread works for."""


class GivenUp(Exception):
    """The exchange was ended from this side: its deadline passed, or `give_up` was called."""


class Exchange(Generic[T]):
    """Thread-safe. `give_up` may come at any moment, also before the connection is there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Any = None
        self._socket: socket.socket | None = None
        self._is_over = False
        self._result: Future[T] = Future()

    def run(self, request: Callable[[], T], within_s: float) -> T:
        """What `request` gives, or raises. Raises `GivenUp`."""
        threading.Thread(target=self._work, args=(request,), name="kernelwright-http", daemon=True).start()
        try:
            return self._result.result(within_s)
        except NotInTime:
            if self._result.done():  # just now, or it is the request's own
                return self._result.result()
            self.give_up()
            raise GivenUp from None

    def give_up(self) -> None:
        with self._lock:
            self._is_over = True
            found = {self._socket, getattr(self._connection, "sock", None)}
        for one in found:
            if one is None:
                continue
            with contextlib.suppress(OSError):
                # Not the shutdown of an SSL socket, which would take away what the other thread reads with.
                socket.socket.shutdown(one, socket.SHUT_RDWR)
        with contextlib.suppress(InvalidStateError):  # it has its result meanwhile
            self._result.set_exception(GivenUp())

    def use(self, connection: Any) -> None:
        """This connection carries the exchange from now on. Raises `TimeoutError` where that is over."""
        with self._lock:
            self._connection = connection
            self._socket = connection.sock or self._socket
            if self._is_over:
                raise TimeoutError

    def _work(self, request: Callable[[], T]) -> None:
        _here.exchange = self
        try:
            result = request()
        except Exception as error:  # noqa: BLE001 - raised again where the result is awaited
            with contextlib.suppress(InvalidStateError):  # given up meanwhile
                self._result.set_exception(error)
        else:
            with contextlib.suppress(InvalidStateError):
                self._result.set_result(result)


def _use(connection: Any) -> None:
    exchange: Exchange[Any] | None = getattr(_here, "exchange", None)
    if exchange is not None:
        exchange.use(connection)


class _Http(urllib3.connection.HTTPConnection):
    """Says before and after connecting and sending which connection the exchange uses."""

    def connect(self) -> None:
        _use(self)
        super().connect()
        _use(self)

    def request(self, *given: Any, **named: Any) -> None:
        _use(self)
        super().request(*given, **named)
        _use(self)


class _Https(urllib3.connection.HTTPSConnection):
    """The same over TLS."""

    def connect(self) -> None:
        _use(self)
        super().connect()
        _use(self)

    def request(self, *given: Any, **named: Any) -> None:
        _use(self)
        super().request(*given, **named)
        _use(self)


class _HttpPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Https


def pools(proxy: str | None, at_once: int) -> urllib3.PoolManager:
    """A pool manager whose connections can be given up. at_once: how many connections to a host are kept."""
    manager = urllib3.PoolManager(maxsize=at_once) if proxy is None else urllib3.ProxyManager(proxy, maxsize=at_once)
    manager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
    return manager
