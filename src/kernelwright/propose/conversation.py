"""The conversation with a model about one request: reflection, plan, kernel, and a second try for a diff.

Every answer is recorded when it arrives. An answer that an earlier session recorded is reused and not paid for again.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Literal

from kernelwright.journal.fold import together
from kernelwright.llm.protocol import Provider, Reply, joined
from kernelwright.llm.received import assumed
from kernelwright.model import Answered, Exchange, Usage
from kernelwright.propose.prompt import Prompt
from kernelwright.propose.protocol import Context
from kernelwright.text.escape import legible

log = logging.getLogger(__name__)

Kind = Literal["kernel", "plan", "reflect", "mend"]


class Conversation:
    """answers: in order, with those of earlier sessions. paid: number of answers that this session requested."""

    def __init__(self, provider: Provider, number: int, context: Context) -> None:
        """number: of the request."""
        self.answers: list[Answered] = []
        self.paid = 0
        self._provider = provider
        self._number = number
        self._context = context
        self._kept = {answered.kind: answered for answered in context.answers.get(number, ())}

    @property
    def usage(self) -> Usage:
        """Usage of the whole conversation."""
        return together(answered.usage for answered in self.answers)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All prompts and replies except those of the kernel."""
        return tuple(
            Exchange(kind=answered.kind, prompt=answered.prompt, reply=answered.reply)
            for answered in self.answers
            if answered.kind != "kernel"
        )

    def kept(self, kind: Kind) -> Answered | None:
        """The recorded answer of an earlier session; None where there is none."""
        return self._kept.get(kind)

    def ask(self, kind: Kind, prompt: Prompt, about: int | None = None) -> Reply:
        """The answer to `prompt`, or the recorded answer of an earlier session. The recorded prompt may list fewer
        trials, but it answered the same request. Raises `ProviderError`."""
        kept = self._kept.get(kind)
        if kept is not None:
            self.answers.append(kept)
            return Reply(self._context.blob(kept.reply), kept.usage, kept.finish)
        reply = self._provider.complete(prompt.system, prompt.text)
        self.paid += 1
        if reply.doubt:
            usage = assumed(reply, whole(prompt), self._context.dearest)
            log.warning("a reply to request %d states %s; its usage is assumed to be the largest so far, %d tokens",
                        self._number, legible(reply.doubt), usage.tokens)  # fmt: skip
            reply = replace(reply, usage=usage, doubt="")
        answered = Answered(
            trial=self._number,
            kind=kind,
            prompt=self._context.put_blob(whole(prompt)),
            reply=self._context.put_blob(reply.text),
            usage=reply.usage,
            finish=reply.finish,
            about=about,
        )
        self._context.keep_answer(answered)
        self.answers.append(answered)
        return reply


def whole(prompt: Prompt) -> str:
    """The stored form of a prompt: everything the model saw, as one text."""
    return f"{joined(prompt.system)}\n\n---\n\n{prompt.text}"
