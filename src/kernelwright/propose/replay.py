"""The replay proposer: it answers with the proposals of an earlier run, so that they can be judged again at no cost.

Request N gets the proposal of the recorded request N, unchanged. A request that differs from the recorded one gets an
error: a proposal only fits the request that it answered.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from kernelwright.errors import RunFolderError
from kernelwright.journal import Journal
from kernelwright.model import Exchange, Proposal, Request, Trial, Usage
from kernelwright.propose.protocol import Context, Proposer


class Replay(Proposer):
    """Thread-safe: it reads the whole recorded run at the start. Raises `RunFolderError` where the run cannot be
    read."""

    shows_profiles = False

    def __init__(self, run: Path) -> None:
        self.author = f"replay:{run.resolve().name}"
        with Journal.open(run) as journal:
            self._trials = {trial.number: trial for trial in journal.trials()}
            hashes = {sha for trial in self._trials.values() for sha in texts_of(trial.proposal)}
            self._texts = {sha: journal.blob(sha) for sha in hashes}
        if not self._trials:
            raise RunFolderError(f"the run in {run} has no finished trial to replay", "name another run")

    def answers_at_once(self, request: Request) -> bool:
        return True

    def propose(self, request: Request, context: Context) -> Proposal:
        trial = self._trials.get(request.number)
        if trial is None:
            return self._error(f"the recorded run has no trial {request.number}: its last is {max(self._trials)}")
        if difference := differs(request, trial.request):
            return self._error(f"this run differs from the recorded one: request {request.number} {difference}")
        recorded = trial.proposal
        return replace(
            recorded,
            author=self.author, usage=Usage(), note=noted(trial), diagnosis="",
            prompt=self._keep(recorded.prompt, context), reply=self._keep(recorded.reply, context),
            exchanges=tuple(self._exchange(exchange, context) for exchange in recorded.exchanges),
        )  # fmt: skip

    def _exchange(self, exchange: Exchange, context: Context) -> Exchange:
        prompt, reply = (context.put_blob(self._texts[sha]) for sha in (exchange.prompt, exchange.reply))
        return Exchange(kind=exchange.kind, prompt=prompt, reply=reply)

    def _keep(self, sha: str | None, context: Context) -> str | None:
        return context.put_blob(self._texts[sha]) if sha is not None else None

    def _error(self, reason: str) -> Proposal:
        return Proposal(author=self.author, error=reason)


def texts_of(proposal: Proposal) -> list[str]:
    """The hashes of all texts that were stored with a proposal."""
    asides = [sha for exchange in proposal.exchanges for sha in (exchange.prompt, exchange.reply)]
    return [sha for sha in (proposal.prompt, proposal.reply, *asides) if sha is not None]


def differs(request: Request, recorded: Request) -> str:
    """How a request differs from the recorded one; "" where it does not."""
    if request.operator is not recorded.operator:
        return f"is to {request.operator.value}, and the recorded one was to {recorded.operator.value}"
    if request.parents != recorded.parents:
        return f"has the parents {request.parents}, and the recorded one had {recorded.parents}"
    return ""


def noted(trial: Trial) -> str:
    """The recorded proposal's note, with its original author."""
    return f"{trial.proposal.author}: {trial.proposal.note}" if trial.proposal.note else trial.proposal.author
