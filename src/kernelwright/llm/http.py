"""JSON over HTTP: POST one document and get one back, with a total deadline, limited retries and no secrets in
messages; and GET, to find out whether a model can be asked.

It knows no provider. A temporary failure (429, 5xx, a timeout, a lost connection) is retried until the attempts or the
deadline run out. Every other failure is reported at once.
"""

from __future__ import annotations

import json
import logging
import math
import random
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import urllib3

from kernelwright.errors import MalformedAnswer, ProviderError
from kernelwright.llm.exchange import Exchange, GivenUp, pools
from kernelwright.text.escape import legible

logger = logging.getLogger(__name__)

LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
"""Maximum size of an answer; a completion has some kilobytes."""

SHOWN_BYTES = 300
"""Maximum characters of an unexpected body that a message quotes."""

SECRET_HEADERS = frozenset({"authorization", "x-api-key", "api-key"})
SHORTEST_SECRET = 8
"""Minimum characters of a secret. A shorter key is a word such as "none", which a local server may require and which
any text may contain."""


@dataclass(frozen=True)
class Patience:
    """Limits of one request. attempt_s: of one attempt. deadline_s: of all attempts together, waits included.

    The n-th wait is first_wait_s · 2ⁿ, at most longest_wait_s, times a random share between a half and one, so that
    requests that failed together are not retried together. A Retry-After header of the server replaces this wait.
    """

    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    attempt_s: float = 600.0
    deadline_s: float = 1800.0
    connect_s: float = 20.0


@dataclass(frozen=True)
class Answer:
    body: Any
    attempts: int


@dataclass(frozen=True)
class Fault:
    """One failed attempt. passing: whether a retry may succeed. wait_s: that the server asked for. kind: of the error
    if it is not retried."""

    what: str
    passing: bool
    wait_s: float | None = None
    kind: type[ProviderError] = ProviderError
    status: int | None = None
    """None where no answer came."""


class JsonClient:
    """Thread-safe: one connection pool for any number of threads."""

    def __init__(self, patience: Patience | None = None, sleep: Callable[[float], object] | None = None) -> None:
        """sleep: waits between attempts; None: a wait that `close` ends."""
        self._patience = patience or Patience()
        self._closed = threading.Event()
        self._sleep = sleep or self._closed.wait
        self._pools: dict[str | None, urllib3.PoolManager] = {}
        self._under_way: set[Exchange[Any]] = set()
        self._lock = threading.Lock()

    def post(self, url: str, headers: Mapping[str, str], document: object) -> Answer:
        """The JSON that `url` answers with status 200. Raises `ProviderError` with the last failure, `MalformedAnswer`
        for another answer with status 200."""
        patience, place = self._patience, without_query(url)
        end_s = time.monotonic() + patience.deadline_s
        payload = json.dumps(document).encode()
        sent = {**headers, "Content-Type": "application/json"}
        secrets = secrets_in(headers)
        for attempt in range(1, patience.attempts + 1):
            result = self._attempt(url, sent, payload, end_s, secrets)
            if not isinstance(result, Fault):
                return Answer(result, attempt)
            what = without_secrets(result.what, secrets)
            if not result.passing:
                raise result.kind(f"{place} {what}")
            if attempt == patience.attempts:
                raise ProviderError(f"{place} {what}; gave up after {attempt} attempts", "resume the run later")
            wait_s = result.wait_s if result.wait_s is not None else backoff_s(patience, attempt - 1)
            if time.monotonic() + wait_s >= end_s:
                raise ProviderError(
                    f"{place} {what}; the next attempt, in {wait_s:.0f} s, would pass the deadline of "
                    f"{patience.deadline_s:.0f} s",
                    "resume the run later",
                )
            logger.info("%s %s; attempt %d in %.1f s", place, what, attempt + 1, wait_s)
            self._sleep(wait_s)
        raise AssertionError("attempts is at least 1")

    def refusal(self, url: str, headers: Mapping[str, str], model: str) -> str:
        """Why `model`, which a server describes at `url`, cannot be asked: the server is not reached, refuses the key,
        or says that it has no such model. "" where it can, and where the server describes no models. One attempt."""
        secrets = secrets_in(headers)
        found = self._attempt(url, headers, None, time.monotonic() + self._patience.connect_s, secrets)
        if not isinstance(found, Fault):
            return ""
        is_unknown = found.status == 404 and model in found.what.replace(f"/{model}", "")  # not a repeated address
        has_no_key = found.status == 401 and "scope" not in found.what  # of a key that may ask, but not list models
        refuses = found.status is None or is_unknown or has_no_key
        return f"{without_query(url)} {without_secrets(found.what, secrets)}" if refuses else ""

    def close(self) -> None:
        """Cancel requests under way; they and all later requests fail at once."""
        self._closed.set()
        with self._lock:
            under_way = list(self._under_way)
        for exchange in under_way:
            exchange.give_up()
        for pool in list(self._pools.values()):
            pool.clear()

    def _attempt(
        self, url: str, headers: Mapping[str, str], payload: bytes | None, end_s: float, secrets: list[str]
    ) -> Any:
        """The decoded body, or the `Fault`."""
        if not is_address(url):
            return Fault("is no http or https address", passing=False)
        left_s = max(0.001, min(end_s - time.monotonic(), self._patience.attempt_s))
        exchange: Exchange[Any] = Exchange()
        with self._lock:
            self._under_way.add(exchange)
        try:
            if self._closed.is_set():
                return Fault("was given up", passing=False)
            found = exchange.run(lambda: self._exchanged(url, headers, payload, left_s, secrets), left_s)
            if isinstance(found, Fault) and self._closed.is_set():  # a cut connection looks like the end of an answer
                return Fault("was given up", passing=False)
            return found
        except GivenUp:
            if self._closed.is_set():
                return Fault("was given up", passing=False)
            return Fault("did not answer in time", passing=True)
        finally:
            with self._lock:
                self._under_way.discard(exchange)

    def _exchanged(
        self, url: str, headers: Mapping[str, str], payload: bytes | None, left_s: float, secrets: list[str]
    ) -> Any:
        """One attempt, in the exchange's thread. payload: None for a GET."""
        try:
            response = self._pool(url).request(
                "GET" if payload is None else "POST",
                url,
                body=payload,
                headers=headers,
                retries=False,
                redirect=False,
                preload_content=False,
                timeout=urllib3.Timeout(connect=min(self._patience.connect_s, left_s), read=left_s),
            )
            try:
                body = read_body(response)
            finally:
                response.close()
        except urllib3.exceptions.SSLError as error:
            return Fault(f"has no trusted TLS connection: {error}", passing=False)
        except urllib3.exceptions.NewConnectionError as error:  # a TimeoutError to urllib3
            return Fault(f"cannot be reached: {error}", passing=True)
        except (urllib3.exceptions.TimeoutError, TimeoutError):
            return Fault("did not answer in time", passing=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if any(isinstance(one, TimeoutError) for one in error.args):  # while the request was sent
                return Fault("did not answer in time", passing=True)
            return Fault(f"lost the connection ({type(error).__name__}: {error})", passing=True)
        except ValueError as error:  # from http.client: an invalid header or path
            return Fault(f"cannot be sent this request ({type(error).__name__}): check address and key", passing=False)
        if body is None:
            return Fault(f"sent more than {LARGEST_ANSWER_BYTES} bytes", passing=False)
        return read_answer(response.status, response.headers, body, secrets)

    def _pool(self, url: str) -> urllib3.PoolManager:
        proxy = proxy_for(url)
        with self._lock:
            if proxy not in self._pools:
                # The usual number of requests in flight; further connections are opened but not kept.
                self._pools[proxy] = pools(proxy, 8)
            return self._pools[proxy]


def is_address(url: str) -> bool:
    """Whether `url` is http or https and has a host."""
    try:
        parts = urllib3.util.parse_url(url)
    except urllib3.exceptions.LocationParseError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.host)


def without_query(url: str) -> str:
    """An address without its user, password and query, which may be secrets, for messages."""
    if not is_address(url):
        return repr(legible(url.split("?")[0].split("@")[-1]))
    parts = urllib3.util.parse_url(url)
    return parts._replace(auth=None, query=None, fragment=None).url


def read_body(response: urllib3.BaseHTTPResponse) -> bytes | None:
    """The whole body, or None where it is too long."""
    body = bytearray()
    while chunk := response.read1(65536):
        body += chunk
        if len(body) > LARGEST_ANSWER_BYTES:
            return None
    return bytes(body)


def read_answer(status: int, headers: Mapping[str, str], body: bytes, secrets: list[str]) -> Any:
    """The decoded body of a 200, or a `Fault`. Secrets that were sent are removed from it."""
    shown = quoted(without_secrets(body.decode("utf-8", "replace"), secrets).strip())
    if status == 200:
        try:
            return decoded(body, secrets)
        except ValueError:
            return Fault(f"answered with status 200 and no JSON: {shown!r}", False, kind=MalformedAnswer, status=200)
        except RecursionError:
            what = "answered with status 200 and JSON that is nested too deeply"
            return Fault(what, False, kind=MalformedAnswer, status=200)
    quota = b"insufficient_quota" in body  # OpenAI's 429 for an empty account: waiting does not fill it
    passing = (status in (408, 429) or status >= 500) and not quota
    wait_s = retry_after_s(headers.get("Retry-After"))
    return Fault(f"answered with status {status}: {shown!r}", passing, wait_s, status=status)


def decoded(body: bytes, secrets: list[str]) -> Any:
    """The document, without secrets that the server sent back in any JSON escaping."""
    document = json.loads(body)
    written = json.dumps(document, ensure_ascii=False)
    clean = without_secrets(written, secrets)
    return document if clean == written else json.loads(clean)


def quoted(document: object) -> str:
    """The beginning of a server's answer, made printable for a message."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return legible(text[:SHOWN_BYTES])


def retry_after_s(value: str | None) -> float | None:
    """The seconds of a Retry-After header, given as a number or as a date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    try:
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def backoff_s(patience: Patience, waits: int) -> float:
    """The wait in seconds after `waits` earlier waits."""
    return min(patience.longest_wait_s, patience.first_wait_s * 2.0**waits) * random.uniform(0.5, 1.0)


def secrets_in(headers: Mapping[str, str]) -> list[str]:
    """The secrets in the headers, the longest first: every key, with and without its `Bearer`."""
    sent = [value for name, value in headers.items() if name.lower() in SECRET_HEADERS]
    forms = {form for value in sent for form in (value, value.removeprefix("Bearer "))}
    return sorted((form for form in forms if len(form) >= SHORTEST_SECRET), key=len, reverse=True)


def without_secrets(text: str, secrets: list[str]) -> str:
    """`text` with every secret replaced."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for `url` (HTTPS_PROXY, NO_PROXY); never for this machine itself."""
    parts = urllib3.util.parse_url(url)
    if parts.host is None or parts.host in ("localhost", "127.0.0.1", "[::1]") or parts.scheme is None:
        return None
    if urllib.request.proxy_bypass(parts.host):
        return None
    return urllib.request.getproxies().get(parts.scheme)
