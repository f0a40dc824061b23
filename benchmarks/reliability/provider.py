"""A model on the loopback whose answer depends on the prompt alone, and which remembers when it answered what.

Nothing random: a run that is killed and resumed meets the same model.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from proposing import KERNEL


class Provider:
    """answered: hash of each prompt that got its answer, with the moment (`time.monotonic`)."""

    def __init__(self) -> None:
        self.answered: list[tuple[str, float]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = asked["messages"][-1]["content"]
                digest = hashlib.sha256(prompt.encode()).hexdigest()
                time.sleep(0.02 + int(digest[:2], 16) / 4000)
                body = json.dumps(outer.answer(prompt, digest)).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:  # it was killed meanwhile
                    return
                outer.answered.append((digest, time.monotonic()))

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, prompt: str, digest: str) -> dict[str, Any]:
        kind, number = prompt.split()[1], int(digest[:8], 16)
        if kind == "Plan":
            text = f"Plan {number}: widen the block."
        elif kind == "Why":
            text = "Lesson: wide blocks spill.\nClaim: registers up\n"
        else:
            fails = "# fails: wrong\n" if number % 7 == 0 else ""
            source = KERNEL.replace("BLOCK = 256", f"BLOCK = {16 + number % 4000}")
            text = f"Note: block {number % 4000}.\n\n```python\n{source}{fails}```\n"
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
