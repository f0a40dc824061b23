"""POST one JSON document and get one back: a total deadline, bounded retries, nothing secret in a message.

It knows no provider. The one rule: a failure that may pass by itself (429, 5xx, a timeout, a lost connection) is
retried until the attempts or the deadline run out; every other failure is told at once.
"""

from __future__ import annotations

import json
import logging
import random
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import urllib3

from kernelwright.errors import ProviderError

logger = logging.getLogger(__name__)

LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
"""A completion is some kilobytes; more than this is not one."""

SHOWN_BYTES = 300
"""How much of an unexpected body a message quotes."""

SECRET_HEADERS = frozenset({"authorization", "x-api-key", "api-key"})


@dataclass(frozen=True)
class Patience:
    """How long to go on: attempt_s for one attempt, deadline_s for all of one request together, waits included.

    The n-th wait is first_wait_s · 2ⁿ, at most longest_wait_s, times a random share between a half and one, so that
    requests that failed together do not return together. A Retry-After of the server is honoured instead.
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
    """One failed attempt. wait_s: what the server asked for."""

    what: str
    passing: bool
    wait_s: float | None = None


class JsonClient:
    """Thread-safe: one connection pool for any number of threads."""

    def __init__(self, patience: Patience | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self._patience = patience or Patience()
        self._sleep = sleep
        self._pools: dict[str | None, urllib3.PoolManager] = {}

    def post(self, url: str, headers: Mapping[str, str], document: object) -> Answer:
        """The JSON that `url` answers with status 200. Raises `ProviderError` with the last failure."""
        patience = self._patience
        end_s = time.monotonic() + patience.deadline_s
        payload = json.dumps(document).encode()
        sent = {**headers, "Content-Type": "application/json"}
        secrets = [value for name, value in headers.items() if name.lower() in SECRET_HEADERS]
        for attempt in range(1, patience.attempts + 1):
            result = self._attempt(url, sent, payload, end_s)
            if not isinstance(result, Fault):
                return Answer(result, attempt)
            what = without_secrets(result.what, secrets)
            if not result.passing:
                raise ProviderError(f"{url} {what}")
            if attempt == patience.attempts:
                raise ProviderError(f"{url} {what}; gave up after {attempt} attempts", "resume the run later")
            wait_s = result.wait_s if result.wait_s is not None else backoff_s(patience, attempt - 1)
            if time.monotonic() + wait_s >= end_s:
                raise ProviderError(
                    f"{url} {what}; the next attempt, in {wait_s:.0f} s, would pass the deadline of "
                    f"{patience.deadline_s:.0f} s",
                    "resume the run later",
                )
            logger.info("%s %s; attempt %d in %.1f s", url, what, attempt + 1, wait_s)
            self._sleep(wait_s)
        raise AssertionError("attempts is at least 1")

    def close(self) -> None:
        for pool in self._pools.values():
            pool.clear()

    def _attempt(self, url: str, headers: Mapping[str, str], payload: bytes, end_s: float) -> Any:
        """The decoded body, or the `Fault`."""
        if not is_address(url):
            return Fault("is no http or https address", passing=False)
        left_s = max(0.001, min(end_s - time.monotonic(), self._patience.attempt_s))
        end_s = time.monotonic() + left_s
        try:
            response = self._pool(url).request(
                "POST",
                url,
                body=payload,
                headers=headers,
                retries=False,
                redirect=False,
                preload_content=False,
                timeout=urllib3.Timeout(connect=min(self._patience.connect_s, left_s), read=left_s),
            )
            try:
                body = read_body(response, end_s)
            finally:
                response.close()
        except urllib3.exceptions.SSLError as error:
            return Fault(f"offers no connection to trust: {error}", passing=False)
        except urllib3.exceptions.NewConnectionError as error:  # a TimeoutError to urllib3
            return Fault(f"cannot be reached: {error}", passing=True)
        except (urllib3.exceptions.TimeoutError, TimeoutError):
            return Fault("did not answer in time", passing=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return Fault(f"lost the connection ({type(error).__name__}: {error})", passing=True)
        if body is None:
            return Fault(f"sent more than {LARGEST_ANSWER_BYTES} bytes", passing=False)
        return read_answer(response.status, response.headers, body)

    def _pool(self, url: str) -> urllib3.PoolManager:
        proxy = proxy_for(url)
        if proxy not in self._pools:
            # maxsize: as many connections as requests are commonly in flight; more are opened and not kept.
            self._pools[proxy] = (
                urllib3.PoolManager(maxsize=8) if proxy is None else urllib3.ProxyManager(proxy, maxsize=8)
            )
        return self._pools[proxy]


def is_address(url: str) -> bool:
    """Whether `url` could name a server: http or https, and a host."""
    try:
        parts = urllib3.util.parse_url(url)
    except urllib3.exceptions.LocationParseError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.host)


def read_body(response: urllib3.BaseHTTPResponse, end_s: float) -> bytes | None:
    """The whole body, or None where it is too long. A socket's timeout starts anew with each byte: hence end_s."""
    body = bytearray()
    while chunk := response.read1(65536):
        body += chunk
        if len(body) > LARGEST_ANSWER_BYTES:
            return None
        if time.monotonic() > end_s:
            raise TimeoutError
    return bytes(body)


def read_answer(status: int, headers: Mapping[str, str], body: bytes) -> Any:
    """The decoded body of a 200, or the `Fault` that the answer amounts to."""
    shown = body[:SHOWN_BYTES].decode("utf-8", "replace").strip()
    if status == 200:
        try:
            return json.loads(body)
        except ValueError:
            return Fault(f"answered with status 200 and no JSON: {shown!r}", passing=False)
    quota = b"insufficient_quota" in body  # OpenAI's 429 for an empty account: waiting does not fill it
    passing = (status in (408, 429) or status >= 500) and not quota
    return Fault(f"answered with status {status}: {shown!r}", passing, retry_after_s(headers.get("Retry-After")))


def retry_after_s(value: str | None) -> float | None:
    """The seconds of a Retry-After header, given as a number or as a date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def backoff_s(patience: Patience, waits: int) -> float:
    """How long to wait after `waits` waits."""
    return min(patience.longest_wait_s, patience.first_wait_s * 2.0**waits) * random.uniform(0.5, 1.0)


def without_secrets(text: str, secrets: list[str]) -> str:
    """`text` with every key blotted out, with and without its `Bearer`."""
    for secret in secrets:
        for form in (secret, secret.removeprefix("Bearer ")):
            if form:
                text = text.replace(form, "…")
    return text


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for `url` (HTTPS_PROXY, NO_PROXY); never for this machine itself."""
    parts = urllib3.util.parse_url(url)
    if parts.host is None or parts.host in ("localhost", "127.0.0.1", "[::1]") or parts.scheme is None:
        return None
    if urllib.request.proxy_bypass(parts.host):
        return None
    return urllib.request.getproxies().get(parts.scheme)
