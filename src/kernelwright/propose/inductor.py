"""The inductor proposer: without a starter, a run begins with the kernel that torch.compile generates.

Its first kernel is converted from Inductor's output (`kernelwright.inductor`). The first improvements of that kernel
are Inductor's other variants: for sizes that divide, with rows reduced in one piece, or with templates in place of
library calls. After that it varies numbers, as the built-in proposer does. What is generated belongs to the framework,
so the run stores only its hash and figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from kernelwright import codec
from kernelwright.inductor import NotConverted, can_split, candidate_texts
from kernelwright.inductor.candidate import CAPTURED_ONLY
from kernelwright.inductor.products import has_sizes, is_exact, is_split
from kernelwright.model import Candidate, Operator, Proposal, Request, Trial
from kernelwright.propose.builtin import Builtin
from kernelwright.propose.protocol import Context, NothingLeft, Proposer

AUTHOR = "inductor"


class Inductor(Proposer):
    """Stateless, hence thread-safe."""

    author = AUTHOR
    shows_profiles = False

    def __init__(self, sampler: str = "model") -> None:
        """sampler: as in `Builtin`, after a local search around the first config, which Inductor chose. Raises
        `ConfigError` as `Builtin` does."""
        self._builtin = Builtin(sampler, opening="local")

    def answers_at_once(self, request: Request) -> bool:
        return request.number > 0  # the worker caches what it generated

    def propose(self, request: Request, context: Context) -> Proposal:
        if request.operator is Operator.SEED:
            return self._generated(context)
        seeds = {trial.number for trial in context.trials if trial.proposal.author == AUTHOR}
        is_first = request.round == 1 or request.operator is Operator.REPAIR
        if is_first and not seeds.isdisjoint(request.parents):
            with suppress(NothingLeft):
                other = self._generated(context)
                if other.candidate is not None:
                    return other
        return self._builtin.propose(request, context)

    def _generated(self, context: Context) -> Proposal:
        """The first generated kernel that was not tried before."""
        generated = context.generate()
        try:
            texts = candidate_texts(generated, context.problem.library, can_split(context.environment))
        except NotConverted as reason:
            return Proposal(author=AUTHOR, error=str(reason))
        tried = [one.source for one in (*context.in_flight, *(t.proposal.candidate for t in context.trials)) if one]
        candidate = next((Candidate(source=one) for one in ordered(texts, context.trials) if one not in tried), None)
        if candidate is None:
            raise NothingLeft("every kernel that torch.compile generates was tried")
        kernels, records = candidate.source.count("# Fuses: "), codec.encode(generated.captures[0])
        served = CAPTURED_ONLY if CAPTURED_ONLY in candidate.source else "sizes from shapes"
        note = (
            f"from what torch.compile of torch {generated.torch} generates (kernels: {kernels}; {served}; "
            f"sha256 of the records {codec.sha(records)[:12]})"
        )
        return Proposal(author=AUTHOR, candidate=candidate, note=note)


def ordered(texts: Sequence[str], trials: Sequence[Trial]) -> list[str]:
    """The texts in the order in which they are tried. Kernels with exact products are slow: they are left out once a
    kernel with split products passed. Once one failed they come first, after those whose sizes are arguments."""
    passed = {one.proposal.candidate.source for one in trials if one.proposal.candidate and one.score_us is not None}
    tried = {one.proposal.candidate.source for one in trials if one.proposal.candidate}
    exact, others = filter(is_exact, texts), [one for one in texts if not is_exact(one)]
    if any(is_split(one) and one in passed for one in others):
        return others
    if any(is_split(one) and one in tried for one in others):
        return [*filter(has_sizes, others), *exact, *(one for one in others if not has_sizes(one))]
    return list(texts)


class InductorFirst:
    """A proposer that writes code, after a first kernel from Inductor, which is then the parent. Where no kernel can be
    converted, the writer writes the first one too."""

    def __init__(self, writer: Proposer) -> None:
        self._writer, self._inductor = writer, Inductor()
        self._has_refused = False
        self.author, self.shows_profiles = writer.author, writer.shows_profiles

    def answers_at_once(self, request: Request) -> bool:
        return request.number > 0 and self._writer.answers_at_once(request)

    def propose(self, request: Request, context: Context) -> Proposal | None:
        if request.operator is Operator.SEED and request.number == 0 and not self._has_refused:
            proposal = self._inductor.propose(request, context)
            if proposal.candidate is not None:
                return proposal
            self._has_refused = True  # a request that waits for a reply is proposed again
        return self._writer.propose(request, context)

    def close(self) -> None:
        self._writer.close()
