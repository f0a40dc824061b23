"""The provider for OpenAI's chat completions API: OpenAI itself, gateways, and compatible local servers.

It sends only fields that all such servers understand, and no option that the user did not give. Servers cache prompt
prefixes by themselves.
"""

from __future__ import annotations

from typing import Any

from kernelwright.llm.http import JsonClient
from kernelwright.llm.prices import Price
from kernelwright.llm.protocol import ProviderRequest, joined
from kernelwright.llm.received import Counts
from kernelwright.llm.served import Served

OPENAI_URL = "https://api.openai.com/v1"


class OpenAI(Served):
    """key: None where the server needs none. max_tokens: maximum length of a reply, None: the server's own limit."""

    reply, interface = "chat completion", "an OpenAI-compatible server"

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
        root = base_url.rstrip("/")
        # OpenAI refuses `max_tokens` for its reasoning models; other servers may not know the newer name.
        limit = "max_completion_tokens" if root == OPENAI_URL else "max_tokens"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        fixed = {"model": model, limit: max_tokens, "temperature": temperature}
        super().__init__(client, root, "chat/completions", headers, fixed, price)

    def request(self, system: tuple[str, ...], prompt: str) -> ProviderRequest:
        messages = [{"role": "system", "content": joined(system)}, {"role": "user", "content": prompt}]
        return ProviderRequest(self._url, {**self._fixed, "messages": messages})

    def read(self, body: Any) -> tuple[object, object, Counts]:
        choice = body["choices"][0]
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
        return choice["message"].get("content"), choice.get("finish_reason"), counts
