"""The contract of a model provider: a system text and a prompt in, a reply with its cost out.

It knows nothing of kernels. What the model answered is a `Reply`, however useless; only an answer
that never came is a `ProviderError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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

    def complete(self, system: str, prompt: str) -> Reply:
        """One answer; retries are within. Raises `ProviderError` when none came."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...
