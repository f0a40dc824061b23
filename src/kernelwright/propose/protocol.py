"""The protocol of a proposer: given a request, write a candidate.

A proposer does not choose what to try (a strategy does), runs nothing on a GPU, and does not write to the journal; it
may store prompts and replies as blobs of the journal. A failure of one proposal (a refusal, a reply without code) is a
`Proposal` with an `error`. Only what makes every further proposal pointless is raised: a failure, or `NothingLeft`.
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
    """The read access of a proposer: everything it may use besides the request.

    trials: every finished trial, in the order of their numbers. in_flight: candidates proposed and not finished.
    folder: the run folder. profiles: by trial number, for the trials that were profiled (the request's parents among
    them, where the proposer shows profiles). lessons: of earlier runs, one line each. put_blob stores a text and
    returns its hash; blob returns the text of a hash; keep_answer records an answer that was paid for. All three may be
    called from any thread. answers: the recorded answers by request number; what an earlier session paid for is not
    requested again. dearest: the largest token counts and cost of any answer of this run. siblings: number of other
    requests that wait for a kernel made from the same one. generate: returns the source that torch.compile generates
    for the problem, which takes seconds.
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


class NothingLeft(Exception):
    """The proposer knows no candidate that was not tried, whatever it is asked; the message says why."""


class Advisor(Protocol):
    """A model that `tune` asks for starting configs. `advice` has the prompt and the reader of the answer."""

    def complete(self, system: tuple[str, ...], prompt: str) -> Reply | None:
        """The answer. None: the caller puts it beside the question as a file (mailbox). Raises `ProviderError` when no
        answer came."""
        ...

    def close(self) -> None:
        """Close connections; there are none unless an advisor says so."""
        return


class Proposer(Protocol):
    """Thread-safe: several `propose` calls may be under way at once."""

    author: str
    """Author of the proposals; see `Proposal.author`."""

    shows_profiles: bool
    """Whether its prompts contain profiles. If so, the parents of a request are profiled before the prompt is
    written."""

    def answers_at_once(self, request: Request) -> bool:
        """Whether `propose` takes only milliseconds for this request and costs nothing. The loop then calls it before
        it makes the next request, so that the proposer knows all candidates in flight and does not repeat one."""
        ...

    def propose(self, request: Request, context: Context) -> Proposal | None:
        """The proposal. None: there is no answer yet (mailbox); the request stays open, and `propose` is called again
        later.

        Raises `ProviderError` only for failures that should stop the run, and `NothingLeft`, where `answers_at_once`.
        """
        ...

    def close(self) -> None:
        """Close connections, from any thread; there are none unless a proposer says so. A `propose` call that waits for
        an answer from outside raises `ProviderError` soon. The proposer is not used after this."""
        return
