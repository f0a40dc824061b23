"""The provider for Anthropic's Messages API. Only the text blocks of a reply count, not the
model's thinking."""

from __future__ import annotations

from typing import Any

from kernelwright.llm.http import JsonClient
from kernelwright.llm.prices import Price
from kernelwright.llm.protocol import ProviderRequest
from kernelwright.llm.received import Counts
from kernelwright.llm.served import Served

ANTHROPIC_URL = "https://api.anthropic.com"
API_VERSION = "2023-06-01"
"""The `anthropic-version` header (Anthropic's API reference, "Versions")."""
DEFAULT_MAX_TOKENS = 32_000
"""The API requires a limit, which includes the model's thinking. A long kernel module takes about 6,000 tokens."""

CACHED = {"type": "ephemeral"}
"""Marks the end of a cached prefix, which lives for five minutes after its last use (the same reference, "Prompt
caching"). A prefix that is too short for the model's cache is not cached and costs nothing extra."""


class Anthropic(Served):
    """max_tokens: maximum length of a reply, thinking included."""

    reply, interface = "message", "a server with Anthropic's Messages interface"

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
        headers = {"x-api-key": key, "anthropic-version": API_VERSION}
        fixed = {"model": model, "max_tokens": max_tokens, "temperature": temperature}
        super().__init__(client, base_url.rstrip("/") + "/v1", "messages", headers, fixed, price)

    def request(self, system: tuple[str, ...], prompt: str) -> ProviderRequest:
        messages = [{"role": "user", "content": prompt}]
        blocks = [{"type": "text", "text": part.strip(), "cache_control": CACHED} for part in system]
        return ProviderRequest(self._url, {**self._fixed, "system": blocks, "messages": messages})

    def read(self, body: Any) -> tuple[object, object, Counts]:
        text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
        counted = body["usage"]
        written, cached = (counted.get(f"cache_{kind}_input_tokens") for kind in ("creation", "read"))
        counts = Counts(
            input=[counted.get("input_tokens"), written, cached],
            cached=cached,
            written=written,
            output=counted["output_tokens"],
        )
        return text, body.get("stop_reason"), counts
