"""The contract of a proposer: given a request, write a candidate.

It does not choose what to try (a strategy does), run anything on a GPU, or write to the journal; it may put prompts
and replies into the journal's blobs. A fault of one proposal (a refusal, a reply without code) is a
`Proposal` with an `error`; only a fault that makes every further proposal pointless is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kernelwright.llm.protocol import Reply
from kernelwright.model import (
    Answered,
    Candidate,
    Environment,
    Generated,
    ProblemInfo,
    Profile,
    Proposal,
    Request,
    Trial,
    Usage,
)


@dataclass(frozen=True)
class Context:
    """All that a proposer may look at besides the request itself.

    trials: every finished trial, in the order of their numbers. in_flight: candidates proposed and not finished.
    folder: the run folder. profiles: by trial number, of the trials that were profiled (the request's parents among
    them, where the proposer shows them). lessons: of earlier runs, a line each. put_blob stores a text and gives its
    hash, blob gives the text of a hash, keep_answer records an answer that was paid for; all may be called from any
    thread. answers: those recorded, by request; what an earlier session paid for is not asked again. dearest: the most
    that answers of this run cost. siblings: how many other open requests start from the same kernel. generate: what
    torch.compile would run for the problem, as text, which takes seconds.
    """

    problem: ProblemInfo
    environment: Environment
    trials: tuple[Trial, ...]
    in_flight: tuple[Candidate, ...]
    seed: int
    folder: Path
    put_blob: Callable[[str], str]
    blob: Callable[[str], str]
    profiles: Mapping[int, tuple[Profile, ...]] = field(default_factory=dict)
    lessons: tuple[str, ...] = ()
    answers: Mapping[int, tuple[Answered, ...]] = field(default_factory=dict)
    keep_answer: Callable[[Answered], None] = lambda answered: None
    dearest: Usage = field(default_factory=Usage)
    siblings: int = 0
    generate: Callable[[], Generated] = lambda: Generated(reason="nothing generates text here")


class Advisor(Protocol):
    """Whom `tune` asks for configs to begin with; what is asked and read is `advice`."""

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply | None:
        """The answer; None: it will be put beside the question as a file. Raises `ProviderError` when none came."""
        ...

    def close(self) -> None: ...


class Proposer(Protocol):
    """Thread-safe: several `propose` calls may be under way at once."""

    author: str
    """Who signs the proposals; see `Proposal.author`."""

    shows_profiles: bool
    """Whether its prompts show them: what a request starts from is then profiled before it is asked."""

    def answers_at_once(self, request: Request) -> bool:
        """Whether `propose` takes milliseconds here and costs nothing: it is then called before the next request is
        made, so that it knows what is in flight and does not repeat it."""
        ...

    def propose(self, request: Request, context: Context) -> Proposal | None:
        """The answer, or None: no answer yet, the request stays open (the mailbox) and is proposed again later.

        Raises `ProviderError` only for faults that should stop the run.
        """
        ...

    def close(self) -> None:
        """Close connections, from any thread. A `propose` under way that waits for an answer from outside raises
        `ProviderError` soon; it is not used again."""
        ...
