"""The contract of a model provider: a system text in parts and a prompt in, a reply with its cost out.

It knows nothing of kernels. What the model answered is a `Reply`, however useless; only an answer
that never came is a `ProviderError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from kernelwright.errors import ProviderError
from kernelwright.model import Usage


@dataclass(frozen=True)
class Reply:
    """finish: the provider's own word for why it stopped ("stop", "end_turn", "length", …), "" if it gave none.

    doubt: why the figures of `usage` cannot be used, "" where they can.
    """

    text: str
    usage: Usage
    finish: str
    doubt: str = ""

    @property
    def truncated(self) -> bool:
        """Whether the model ran out of room: what is there is only the beginning of an answer."""
        return self.finish in TRUNCATED


TRUNCATED = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
"""`length` is OpenAI's word, the others Anthropic's (its Messages API reference, `stop_reason`)."""


class Provider(Protocol):
    """Thread-safe: several `complete` calls may be under way at once."""

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        """One answer; retries are within. system: parts of a text, the first the one that changes least often; other
        requests of a run begin with the same ones. Raises `ProviderError` when no answer came."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


@dataclass(frozen=True)
class ProviderRequest:
    """What is sent for one prompt: a JSON document to an address. The key is in a header, and is not part of it."""

    url: str
    document: dict[str, Any]


class HttpProvider(Provider, Protocol):
    """A provider that can say what it would send."""

    def request(self, system: tuple[str, ...], prompt: str) -> ProviderRequest:
        """What `complete` sends."""
        ...


class NothingSent(ProviderError):
    """Raised in place of sending `request`."""

    def __init__(self, request: ProviderRequest) -> None:
        super().__init__(f"nothing was sent to {request.url}")
        self.request = request


class Withholding:
    """A provider that raises `NothingSent` for every prompt."""

    def __init__(self, provider: HttpProvider) -> None:
        self._provider = provider

    def complete(self, system: tuple[str, ...], prompt: str) -> NoReturn:
        raise NothingSent(self._provider.request(system, prompt))

    def close(self) -> None:
        self._provider.close()


def joined(system: tuple[str, ...]) -> str:
    """The parts as one text."""
    return "\n\n".join(part.strip() for part in system)
