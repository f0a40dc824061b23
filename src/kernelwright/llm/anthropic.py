"""The provider for Anthropic's Messages API.

No streaming and no tools: one prompt, one text. Only the text blocks of a reply count, not the model's thinking.
"""

from __future__ import annotations

import time
from typing import Any

from kernelwright.errors import MalformedAnswer
from kernelwright.llm.http import JsonClient, quoted
from kernelwright.llm.prices import Price
from kernelwright.llm.protocol import ProviderRequest, Reply
from kernelwright.llm.received import Counts, received, usage_of

ANTHROPIC_URL = "https://api.anthropic.com"
API_VERSION = "2023-06-01"
"""The `anthropic-version` header (Anthropic's API reference, "Versions")."""
DEFAULT_MAX_TOKENS = 32_000
"""The API requires a limit, which includes the model's thinking. A long kernel module takes about 6,000 tokens."""

CACHED = {"type": "ephemeral"}
"""Marks the end of a cached prefix, which lives for five minutes after its last use (the same reference, "Prompt
caching"). A prefix that is too short for the model's cache is not cached and costs nothing extra."""


class Anthropic:
    """max_tokens: maximum length of a reply, thinking included."""

    def __init__(
        self,
        client: JsonClient,
        model: str,
        key: str,
        base_url: str = ANTHROPIC_URL,
        price: Price | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float | None = None,
    ) -> None:
        self._client = client
        self._url = base_url.rstrip("/") + "/v1/messages"
        self._headers = {"x-api-key": key, "anthropic-version": API_VERSION}
        self._price = price
        self._fixed: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
        if temperature is not None:
            self._fixed["temperature"] = temperature

    def request(self, system: tuple[str, ...], prompt: str) -> ProviderRequest:
        messages = [{"role": "user", "content": prompt}]
        blocks = [{"type": "text", "text": part.strip(), "cache_control": CACHED} for part in system]
        return ProviderRequest(self._url, {**self._fixed, "system": blocks, "messages": messages})

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        start_s = time.monotonic()
        answer = self._client.post(self._url, self._headers, self.request(system, prompt).document)
        body = answer.body
        try:
            text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
            finish = body.get("stop_reason")
            counted = body["usage"]
            written, cached = (counted.get(f"cache_{kind}_input_tokens") for kind in ("creation", "read"))
            counts = Counts(
                input=[counted.get("input_tokens"), written, cached],
                cached=cached,
                written=written,
                output=counted["output_tokens"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise MalformedAnswer(
                f"{self._url} answered with JSON that is no message ({type(error).__name__}: {error}): {quoted(body)}",
                "check that base_url names a server with Anthropic's Messages interface",
            ) from error
        usage, doubt = usage_of(counts, self._price, time.monotonic() - start_s, answer.attempts)
        return received(text, finish, usage, doubt)

    def refusal(self) -> str:
        model = self._fixed["model"]
        return self._client.refusal(self._url.replace("/messages", f"/models/{model}"), self._headers, model)

    def close(self) -> None:
        self._client.close()
