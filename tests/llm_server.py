"""A scripted HTTP server on the loopback: each request gets the next answer of a list, and is kept.

Not a model: it answers what the test says. The rule: an answer beyond the list is status 500 with the words
"script exhausted", so a request too many is seen.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Scripted:
    """One answer. body: JSON unless it is bytes. after_s: how long to keep silent. trickle_s: the pause before each
    byte of the body. reset: drop the connection instead."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    after_s: float = 0.0
    trickle_s: float = 0.0
    reset: bool = False


@dataclass(frozen=True)
class Seen:
    path: str
    headers: dict[str, str]
    document: Any


class LlmServer:
    """url: what to give as base_url. seen: the prompts so far, in order of arrival. described: the answer to each GET,
    which asks about a model."""

    def __init__(self, script: list[Scripted]) -> None:
        self.seen: list[Seen] = []
        self._script = list(script)
        self.described = Scripted(501, b"not implemented")
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def take(self, seen: Seen) -> Scripted:
        with self._lock:
            self.seen.append(seen)
            return self._script.pop(0) if self._script else Scripted(500, b"script exhausted")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                document = json.loads(self.rfile.read(length))
                answer = outer.take(Seen(self.path, dict(self.headers), document))
                outer.closing.wait(answer.after_s)
                if answer.reset:
                    # A linger of zero makes the close a reset instead of an orderly end.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                    self.connection.close()
                    return
                body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    pieces = [body[i : i + 1] for i in range(len(body))] if answer.trickle_s else [body]
                    for piece in pieces:
                        time.sleep(answer.trickle_s)
                        self.wfile.write(piece)
                except (ConnectionError, BrokenPipeError):
                    self.close_connection = True

            def do_GET(self) -> None:
                answer = outer.described
                body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: the default prints."""

            def finish(self) -> None:
                if not self.wfile.closed and self.connection.fileno() != -1:
                    super().finish()

        return Handler


@contextmanager
def llm_server(*script: Scripted) -> Iterator[LlmServer]:
    server = LlmServer(list(script))
    try:
        yield server
    finally:
        server.close()


def chat(text: str | None, finish: str = "stop", **usage: Any) -> Scripted:
    """An answer in OpenAI's form."""
    counted = {"prompt_tokens": 100, "completion_tokens": 20, **usage}
    return Scripted(body={"choices": [{"message": {"content": text}, "finish_reason": finish}], "usage": counted})


def message(text: str, finish: str = "end_turn", **usage: Any) -> Scripted:
    """An answer in Anthropic's form, thinking included."""
    content = [{"type": "thinking", "thinking": "```python\nnot this\n```"}, {"type": "text", "text": text}]
    counted = {"input_tokens": 100, "output_tokens": 20, **usage}
    return Scripted(body={"type": "message", "content": content, "stop_reason": finish, "usage": counted})
