"""One HTTP request and its answer, bounded by a deadline and cancellable at any time.

It does not retry. The request runs in a thread, and the caller waits by its own clock, never for the network. A socket
timeout would not be enough: it restarts with every byte, so it stops neither header lines that arrive byte by byte nor
an endless series of `100 Continue`. Giving up shuts the socket down, which also ends the thread.
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
"""Thread-local. `exchange`: the exchange that the current thread works for."""


class GivenUp(Exception):
    """The exchange was ended locally: its deadline passed, or `give_up` was called."""


class Exchange(Generic[T]):
    """Thread-safe. `give_up` may be called at any time, also before the connection exists."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Any = None
        self._socket: socket.socket | None = None
        self._is_over = False
        self._result: Future[T] = Future()

    def run(self, request: Callable[[], T], within_s: float) -> T:
        """The result of `request`, or its exception. Raises `GivenUp` after `within_s`, or after `give_up`."""
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
                # Not SSLSocket.shutdown, which would remove the TLS state that the other thread reads with.
                socket.socket.shutdown(one, socket.SHUT_RDWR)
        with contextlib.suppress(InvalidStateError):  # its result has arrived meanwhile
            self._result.set_exception(GivenUp())

    def use(self, connection: Any) -> None:
        """Register the connection that carries the exchange. Raises `TimeoutError` where the exchange is over."""
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


class _Registered:
    """Registers its connection with the exchange before and after connecting and sending."""

    def connect(self) -> None:
        _use(self)
        super().connect()  # type: ignore[misc]
        _use(self)

    def request(self, *given: Any, **named: Any) -> None:
        _use(self)
        super().request(*given, **named)  # type: ignore[misc]
        _use(self)


class _Http(_Registered, urllib3.connection.HTTPConnection):
    pass


class _Https(_Registered, urllib3.connection.HTTPSConnection):
    pass


class _HttpPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Https


def pools(proxy: str | None, at_once: int) -> urllib3.PoolManager:
    """A pool manager whose connections can be given up. at_once: number of connections kept per host."""
    manager = urllib3.PoolManager(maxsize=at_once) if proxy is None else urllib3.ProxyManager(proxy, maxsize=at_once)
    manager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
    return manager
