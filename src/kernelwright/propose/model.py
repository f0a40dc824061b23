"""The model proposer: it writes a prompt for a request, sends it to a provider, and reads the reply.

The provider does all retries, and the worker judges the candidate. A reply that was paid for is recorded and becomes a
`Proposal` with its usage, prompt and reply, whether it is usable or not.
"""

from __future__ import annotations

import threading
from typing import Literal

from kernelwright.errors import MalformedAnswer, ProviderError
from kernelwright.llm.protocol import Provider, Reply
from kernelwright.model import Candidate, Operator, Proposal, Reflection, Request, Trial, Usage
from kernelwright.propose.builtin import tune
from kernelwright.propose.conversation import Conversation
from kernelwright.propose.edits import applied, diff_in
from kernelwright.propose.prompt import (
    Edits,
    NoPrompt,
    Prompt,
    is_editable,
    known_parents,
    mend_prompt,
    plan_prompt,
    prompt_for,
    reflect_prompt,
    with_plan,
)
from kernelwright.propose.protocol import Context
from kernelwright.propose.reflection import counters_of, reflection_in, surprising
from kernelwright.propose.reply import Unusable, checked, code_in, diagnosis_in, expected_in, new_candidate, note_in
from kernelwright.propose.sections import effective_source

MOST_MALFORMED = 5
"""Malformed answers in a row after which the provider counts as failed. A gateway sends one now and then."""

ASSUMED = Usage(cost_usd=0.0, requests=1, assumed=1)
"""Added to the largest usage so far for a malformed answer, which states no figures."""

Edit = Literal["applied", "mended", "failed"]


class ModelProposer:
    """Thread-safe, as its provider is. Requests to tune go to the built-in proposer, because varying numbers needs no
    model.

    edits: how an existing kernel is changed, by a whole module or a diff. plan: ask for a plan in words first. reflect:
    ask the model about surprises, each at most once.
    """

    shows_profiles = True

    def __init__(
        self, provider: Provider, author: str, edits: Edits = "whole", plan: bool = False, reflect: bool = True
    ) -> None:
        self.author = author
        self._provider = provider
        self._edits = edits
        self._plan = plan
        self._reflect = reflect
        self._reflected: set[int] = set()
        self._malformed = 0
        self._one_at_a_time = threading.Lock()

    def answers_at_once(self, request: Request) -> bool:
        return False

    def propose(self, request: Request, context: Context) -> Proposal:
        if request.operator is Operator.TUNE:
            return tune(request, context)
        try:
            prompt = prompt_for(request, context, self._edits)
        except NoPrompt as fault:
            return Proposal(author=self.author, error=str(fault))
        conversation = Conversation(self._provider, request.number, context)
        try:
            proposal = self._answer(request, prompt, conversation, context)
            self._malformed = 0
            return proposal
        except ProviderError as fault:
            is_malformed = isinstance(fault, MalformedAnswer)
            self._malformed += is_malformed
            if self._malformed >= MOST_MALFORMED:
                raise ProviderError(f"{self._malformed} answers in a row are no replies of a model: {fault}") from fault
            if not conversation.paid and not is_malformed:
                raise
            # Keep the answers that were paid for. If the provider still fails, the next request raises before any cost.
            return Proposal(
                author=self.author,
                error=f"the provider failed when the kernel was asked for: {fault}",
                usage=conversation.usage if conversation.paid else context.dearest.plus(ASSUMED),
                exchanges=conversation.exchanges,
            )

    def close(self) -> None:
        self._provider.close()

    def _answer(self, request: Request, prompt: Prompt, conversation: Conversation, context: Context) -> Proposal:
        reflection = self._reflection(conversation, context)
        if self._plan:
            prompt = with_plan(prompt, conversation.ask("plan", plan_prompt(prompt)).text)
        reply = conversation.ask("kernel", prompt)
        asked = conversation.answers[-1]
        parents = known_parents(request, context) if is_editable(request.operator) else []
        candidate, error, edit = self._read(reply, prompt, parents[:1], conversation, context)
        return Proposal(
            author=self.author,
            candidate=candidate,
            error=error,
            usage=conversation.usage,
            prompt=asked.prompt,
            reply=asked.reply,
            note=note_in(reply.text),
            expected=expected_in(reply.text),
            diagnosis=diagnosis_in(reply.text),
            edit=edit,
            exchanges=conversation.exchanges,
            reflection=reflection,
        )

    def _read(
        self, reply: Reply, prompt: Prompt, parents: list[Trial], conversation: Conversation, context: Context
    ) -> tuple[Candidate | None, str | None, Edit | None]:
        """The candidate or an error, and the outcome of a diff. A diff that does not apply is requested once more."""
        edit: Edit | None = None
        try:
            diff = diff_in(reply.text) if self._edits == "diff" and parents else None
            if diff is None or reply.truncated:
                source = code_of(reply)
            else:
                parent = parents[0].proposal.candidate
                assert parent is not None
                source, edit = self._edited(effective_source(parent), diff, prompt, conversation)
            return new_candidate(checked(source), context.trials, context.in_flight), None, edit
        except DoesNotApply as fault:
            return None, str(fault), "failed"
        except Unusable as fault:
            return None, str(fault), edit

    def _edited(self, source: str, diff: str, prompt: Prompt, conversation: Conversation) -> tuple[str, Edit]:
        try:
            return applied(source, diff), "applied"
        except Unusable as fault:
            first = fault
        try:
            again = conversation.ask("mend", mend_prompt(prompt, source, diff, str(first)))
        except ProviderError as fault:
            raise DoesNotApply(f"{first}, and asking again failed: {fault}") from fault
        second = diff_in(again.text)
        if second is None or again.truncated:
            return code_of(again), "mended"
        try:
            return applied(source, second), "mended"
        except Unusable as fault:
            raise DoesNotApply(f"{fault}, the second time as well") from fault

    def _reflection(self, conversation: Conversation, context: Context) -> Reflection | None:
        """The model's reflection on a surprise that it was not asked about before; None where there is none."""
        if not self._reflect:
            return None
        kept = conversation.kept("reflect")
        with self._one_at_a_time:
            self._reflected |= {
                one.about for several in context.answers.values() for one in several if one.about is not None
            }
            open_ones = [one for one in surprising(context.trials) if one.number not in self._reflected]
            if kept is not None:
                open_ones = [one for one in context.trials if one.number == kept.about]
            if not open_ones:
                return None
            about = open_ones[0]
            self._reflected.add(about.number)
        answer = conversation.ask("reflect", reflect_prompt(about, context, self._edits), about.number)
        return reflection_in(answer.text, about.number, *counters_of(about, context.trials, context.profiles))


class DoesNotApply(Unusable):
    """A diff that did not apply, and neither did its second version."""


def code_of(reply: Reply) -> str:
    """The module in a reply. Raises `Unusable`; the message says whether the reply was cut off."""
    if reply.truncated:
        raise Unusable(
            f"the reply was cut off after {reply.usage.output_tokens} tokens (finish reason {reply.finish!r}): "
            "allow more with the option max_tokens"
        )
    try:
        return code_in(reply.text)
    except Unusable as fault:
        ended = f" (finish reason {reply.finish!r})" if reply.finish not in ("", "stop", "end_turn") else ""
        raise Unusable(f"{fault}{ended}") from fault
