"""What the providers share that post one JSON document for each prompt: no streaming and no tools, one prompt, one
text."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, NoReturn

from kernelwright.errors import MalformedAnswer
from kernelwright.llm.http import JsonClient, quoted
from kernelwright.llm.prices import Price
from kernelwright.llm.protocol import NothingSent, ProviderRequest, Reply
from kernelwright.llm.received import Counts, received, usage_of


class Served(ABC):
    """client, root, path, headers: of every request. fixed: its fields that do not depend on the prompt; `model` is
    one. price: None where it is unknown."""

    reply: str
    """What a reply is, in messages."""
    interface: str
    """The interface that a server must have, in messages."""

    def __init__(
        self, client: JsonClient, root: str, path: str, headers: dict[str, str], fixed: dict[str, Any],
        price: Price | None,
    ) -> None:  # fmt: skip
        self._client, self._url, self._headers, self._price = client, f"{root}/{path}", headers, price
        self._model_url = f"{root}/models/{fixed['model']}"
        self._fixed = {name: value for name, value in fixed.items() if value is not None}

    @abstractmethod
    def request(self, system: tuple[str, ...], prompt: str) -> ProviderRequest:
        """The request that `complete` sends."""

    @abstractmethod
    def read(self, body: Any) -> tuple[object, object, Counts]:
        """The text of a reply, the word for why it ended, and its figures. Any `LookupError`, `TypeError` or
        `AttributeError` means that `body` is no reply."""

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply:
        start_s = time.monotonic()
        answer = self._client.post(self._url, self._headers, self.request(system, prompt).document)
        try:
            text, finish, counts = self.read(answer.body)
        except (LookupError, TypeError, AttributeError) as error:
            raise MalformedAnswer(
                f"{self._url} answered with JSON that is no {self.reply} ({type(error).__name__}: {error}): "
                f"{quoted(answer.body)}",
                f"check that base_url names {self.interface}",
            ) from error
        usage, doubt = usage_of(counts, self._price, time.monotonic() - start_s, answer.attempts)
        return received(text, finish, usage, doubt)

    def refusal(self) -> str:
        """Why the model cannot be asked, found out at no cost; "" where it can be, as far as that is known."""
        return self._client.refusal(self._model_url, self._headers, self._fixed["model"])

    def close(self) -> None:
        self._client.close()


class Withholding:
    """A provider that sends nothing: it raises `NothingSent` for every prompt."""

    def __init__(self, provider: Served) -> None:
        self._provider = provider

    def complete(self, system: tuple[str, ...], prompt: str) -> NoReturn:
        raise NothingSent(self._provider.request(system, prompt))

    def close(self) -> None:
        self._provider.close()
