"""What a model is asked for one request: the kernel, and beside it why a trial surprised, a plan, a diff again.

It decides nothing about the run. The one rule: every exchange that was paid for is kept, as blobs and in the usage of
the proposal that it was for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from kernelwright.llm.protocol import Provider, Reply
from kernelwright.model import Exchange, Usage
from kernelwright.propose.prompt import Prompt


class Conversation:
    def __init__(self, provider: Provider, put_blob: Callable[[str], str]) -> None:
        self.usage = Usage()
        self.exchanges: tuple[Exchange, ...] = ()
        self._provider = provider
        self._put_blob = put_blob

    def ask(self, prompt: Prompt) -> Reply:
        reply = self._provider.complete(prompt.system, prompt.text)
        self.usage = self.usage.plus(reply.usage)
        return reply

    def aside(self, kind: Literal["plan", "reflect", "mend"], prompt: Prompt) -> Reply:
        """An exchange that is kept as such."""
        reply = self.ask(prompt)
        exchange = Exchange(kind=kind, prompt=self._put_blob(whole(prompt)), reply=self._put_blob(reply.text))
        self.exchanges = (*self.exchanges, exchange)
        return reply


def whole(prompt: Prompt) -> str:
    """A prompt as it is kept: what the model saw, in one text."""
    return f"{prompt.system.rstrip()}\n\n---\n\n{prompt.text}"
