"""The protocol of a model provider: it takes a system text in parts and a prompt, and returns a reply with its cost.

It knows nothing about kernels. Any answer of the model is a `Reply`, even a useless one. `ProviderError` means that no
answer came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from kernelwright.errors import ProviderError
from kernelwright.model import Usage


@dataclass(frozen=True)
class Reply:
    """finish: the provider's own word for why the model stopped ("stop", "end_turn", "length", …), "" if it gave none.

    doubt: why the figures of `usage` cannot be used, "" where they can.
    """

    text: str
    usage: Usage
    finish: str
    doubt: str = ""

    @property
    def truncated(self) -> bool:
        """Whether the model reached a length limit, so that the text is incomplete."""
        return self.finish in TRUNCATED


TRUNCATED = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
"""`length` is OpenAI's word, the others Anthropic's (its Messages API reference, `stop_reason`)."""


class Provider(Protocol):
    """Thread-safe: several `complete` calls may be under way at once."""

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        """One answer, with retries. system: parts of a text, the part that changes least often first; other requests of
        a run begin with the same parts. Raises `ProviderError` when no answer came."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


@dataclass(frozen=True)
class ProviderRequest:
    """The JSON document for one prompt, and its address. The key is in a header and not part of it."""

    url: str
    document: dict[str, Any]


class NothingSent(ProviderError):
    """Raised instead of sending `request`."""

    def __init__(self, request: ProviderRequest) -> None:
        super().__init__(f"nothing was sent to {request.url}")
        self.request = request


def joined(system: tuple[str, ...]) -> str:
    """The parts as one text."""
    return "\n\n".join(part.strip() for part in system)
