"""The provider for OpenAI's chat completions API: OpenAI itself, gateways, and compatible local servers.

No streaming and no tools: one prompt, one text. It sends only fields that all such servers understand, and no option
that the user did not give. Servers cache prompt prefixes by themselves.
"""

from __future__ import annotations

import time
from typing import Any

from kernelwright.errors import MalformedAnswer
from kernelwright.llm.http import JsonClient, quoted
from kernelwright.llm.prices import Price
from kernelwright.llm.protocol import ProviderRequest, Reply, joined
from kernelwright.llm.received import Counts, received, usage_of

OPENAI_URL = "https://api.openai.com/v1"


class OpenAI:
    """key: None where the server needs none. max_tokens: maximum length of a reply, None: the server's own limit."""

    def __init__(
        self,
        client: JsonClient,
        model: str,
        base_url: str = OPENAI_URL,
        key: str | None = None,
        price: Price | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> None:
        self._client = client
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._price = price
        # OpenAI refuses `max_tokens` for its reasoning models; other servers may not know the newer name.
        limit = "max_completion_tokens" if base_url.rstrip("/") == OPENAI_URL else "max_tokens"
        self._fixed: dict[str, Any] = {"model": model}
        if max_tokens is not None:
            self._fixed[limit] = max_tokens
        if temperature is not None:
            self._fixed["temperature"] = temperature

    def request(self, system: tuple[str, ...], prompt: str) -> ProviderRequest:
        messages = [{"role": "system", "content": joined(system)}, {"role": "user", "content": prompt}]
        return ProviderRequest(self._url, {**self._fixed, "messages": messages})

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        start_s = time.monotonic()
        answer = self._client.post(self._url, self._headers, self.request(system, prompt).document)
        body = answer.body
        try:
            choice = body["choices"][0]
            text, finish = choice["message"].get("content"), choice.get("finish_reason")
            counted = body.get("usage") or {}
            given = counted.get("prompt_tokens_details")
            details = given if isinstance(given, dict) else {}  # some servers send another type
            counts = Counts(
                input=[counted.get("prompt_tokens")],
                cached=details.get("cached_tokens"),
                written=details.get("cache_write_tokens"),
                output=counted.get("completion_tokens"),
                stated_usd=counted.get("cost"),
            )
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise MalformedAnswer(
                f"{self._url} answered with JSON that is no chat completion ({type(error).__name__}: {error}): "
                f"{quoted(body)}",
                "check that base_url names an OpenAI-compatible server",
            ) from error
        usage, doubt = usage_of(counts, self._price, time.monotonic() - start_s, answer.attempts)
        return received(text, finish, usage, doubt)

    def refusal(self) -> str:
        model = self._fixed["model"]
        return self._client.refusal(self._url.replace("/chat/completions", f"/models/{model}"), self._headers, model)

    def close(self) -> None:
        self._client.close()
