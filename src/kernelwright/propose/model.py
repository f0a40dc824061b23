"""The model proposer: puts a request into words, asks a provider, and reads the reply.

It retries nothing (the provider does) and judges nothing (the worker does). The one rule: once a reply was paid for,
what comes back is a `Proposal` with its usage and with prompt and reply kept, usable or not.
"""

from __future__ import annotations

from kernelwright.llm.protocol import Provider, Reply
from kernelwright.model import Candidate, Operator, Proposal, Request, Usage
from kernelwright.propose.builtin import tuned
from kernelwright.propose.prompt import NoPrompt, Prompt, prompt_for
from kernelwright.propose.protocol import Context
from kernelwright.propose.reply import Unusable, candidate_in, note_in


class ModelProposer:
    """Thread-safe, as its provider is. Requests to tune go to the built-in proposer: numbers need no model."""

    def __init__(self, provider: Provider, author: str) -> None:
        self.author = author
        self._provider = provider

    def propose(self, request: Request, context: Context) -> Proposal:
        if request.operator is Operator.TUNE:
            return tuned(request, context)
        try:
            prompt = prompt_for(request, context)
        except NoPrompt as error:
            return Proposal(author=self.author, error=str(error))
        kept = context.put_blob(whole(prompt))
        reply = self._provider.complete(prompt.system, prompt.text)
        return read(reply, self.author, kept, context)

    def close(self) -> None:
        self._provider.close()


def whole(prompt: Prompt) -> str:
    """A prompt as it is kept: what the model saw, in one text."""
    return f"{prompt.system.rstrip()}\n\n---\n\n{prompt.text}"


def read(reply: Reply, author: str, prompt: str | None, context: Context) -> Proposal:
    """The proposal that a reply amounts to. prompt: the hash under which the prompt is kept."""
    if reply.truncated:
        error = (
            f"the reply was cut off after {reply.usage.output_tokens} tokens (finish reason {reply.finish!r}): "
            "allow more with the option max_tokens"
        )
        return proposal(None, error, reply.text, author, prompt, context, reply.usage)
    try:
        candidate = candidate_in(reply.text, context.trials, context.in_flight)
    except Unusable as unusable:
        ended = f" (finish reason {reply.finish!r})" if reply.finish not in ("", "stop", "end_turn") else ""
        return proposal(None, f"{unusable}{ended}", reply.text, author, prompt, context, reply.usage)
    return proposal(candidate, None, reply.text, author, prompt, context, reply.usage)


def proposal(
    candidate: Candidate | None,
    error: str | None,
    text: str,
    author: str,
    prompt: str | None,
    context: Context,
    usage: Usage | None = None,
) -> Proposal:
    """A proposal with the reply kept beside it."""
    return Proposal(
        author=author,
        candidate=candidate,
        error=error,
        usage=usage or Usage(),
        prompt=prompt,
        reply=context.put_blob(text),
        note=note_in(text),
    )
