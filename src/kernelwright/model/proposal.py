"""Requests of a strategy, and proposals of a proposer."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Sequence
from typing import Literal

import msgspec

from kernelwright.model.base import Record

KNOWN = "known kernel"
"""The author of kernels that existed before the run (`RunInfo.known`)."""


class Operator(enum.StrEnum):
    """What a strategy may ask a proposer to do."""

    SEED = "seed"
    IMPROVE = "improve"
    REPAIR = "repair"
    REWRITE_SIMPLY = "rewrite_simply"
    MERGE = "merge"
    TUNE = "tune"


class Candidate(Record, frozen=True, kw_only=True):
    """Source text of a module plus the values of its tunables.

    `config` maps tunable names (see `tunables`) to values; an empty config leaves the source unchanged.
    """

    source: str
    config: dict[str, int] = {}

    @property
    def id(self) -> str:
        """Twelve hex digits of a hash over source and config."""
        text = json.dumps([self.source, sorted(self.config.items())])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Request(Record, frozen=True, kw_only=True):
    """A request of a strategy for one trial.

    number: 0, 1, 2, … in the order of requests; it is the trial's number. round: the generation, from 0 (the seed).
    parents: trial numbers. candidate: a finished candidate to evaluate (a starter, a stated config); None: a proposer
    is to make one.
    """

    number: int
    operator: Operator
    round: int = 0
    parents: tuple[int, ...] = ()
    candidate: Candidate | None = None


class Usage(Record, frozen=True, kw_only=True):
    """Cost of a proposal. cost_usd is None if the price is not known."""

    input_tokens: int = 0
    """All input tokens, including those read from or written to the provider's cache."""
    output_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    requests: int = 0
    """HTTP requests, including retries."""
    assumed: int = 0
    """Number of answers with assumed figures: answers without usable figures, and abandoned ones."""
    cached_tokens: int = 0
    """The part of input_tokens that the provider read from its cache."""
    cache_written_tokens: int = 0
    """The part of input_tokens that the provider wrote to its cache, if it charges for that."""

    @property
    def tokens(self) -> int:
        """Input and output tokens, as a budget counts them; cached tokens count fully."""
        return self.input_tokens + self.output_tokens

    def plus(self, other: Usage) -> Usage:
        """The sum of both; its cost is unknown if the cost of one is unknown."""
        is_known = all(usage.cost_usd is not None for usage in (self, other) if usage != Usage())
        total = sum_of((self, other))
        return total if is_known else msgspec.structs.replace(total, cost_usd=None)


def sum_of(usages: Sequence[Usage]) -> Usage:
    """The sum of all. Its cost is that of those with a known price, None where no price is known."""
    amounts = {name: [getattr(usage, name) for usage in usages] for name in Usage.__struct_fields__}
    known = [cost_usd for cost_usd in amounts.pop("cost_usd") if cost_usd is not None]
    return Usage(**{name: sum(each) for name, each in amounts.items()}, cost_usd=sum(known) if known else None)


class Exchange(Record, frozen=True, kw_only=True):
    """A prompt other than the one for the kernel, and its reply, as hashes of blobs in the journal. mend: a new request
    for an edit that did not apply."""

    kind: Literal["plan", "reflect", "mend"]
    prompt: str
    reply: str


class Answered(Record, frozen=True, kw_only=True):
    """One paid answer of a provider, recorded on arrival. It belongs to request `trial`, whose proposal may need more
    answers. prompt and reply: hashes of blobs. finish: see `llm.Reply`. about: the trial that a reflection is about."""

    trial: int
    kind: Literal["kernel", "plan", "reflect", "mend"]
    prompt: str
    reply: str
    usage: Usage
    finish: str
    about: int | None


class Claim(Record, frozen=True, kw_only=True):
    """A reflection's claim about a counter. holds: whether the counters of both trials confirm it; None if one of them
    lacks the counter."""

    counter: str
    direction: Literal["up", "down", "same"]
    holds: bool | None


class Reflection(Record, frozen=True, kw_only=True):
    """The lesson of a surprising result: why `trial` was faster or slower than expected."""

    trial: int
    lesson: str
    claims: tuple[Claim, ...] = ()

    @property
    def claims_hold(self) -> bool:
        """Whether there are claims and all were checked and hold. Otherwise the lesson is not used in prompts."""
        return bool(self.lesson and self.claims) and all(claim.holds for claim in self.claims)


class Proposal(Record, frozen=True, kw_only=True):
    """The result of a proposer: a candidate or an error, never both.

    author: the source of the candidate: "starter", "known kernel", "builtin", "inductor", "anthropic:<model>",
    "openai:<model>", "mailbox:<who>", "replay:<run>", "script". prompt and reply: hashes of blobs in the journal; None
    if there was none.
    """

    author: str
    candidate: Candidate | None = None
    error: str | None = None
    usage: Usage = Usage()
    prompt: str | None = None
    reply: str | None = None
    note: str = ""
    """One line for people on the change and its reason."""
    expected: float | None = None
    """Speedup over the first parent that the author expected; None: not stated."""
    diagnosis: str = ""
    """The author's comment on the diagnosis in the prompt: confirmed, refined or overruled, and why. "": none."""
    edit: Literal["applied", "mended", "failed"] | None = None
    """For an answer as a diff: whether the diff applied, at once or after a second request. None: a whole module."""
    exchanges: tuple[Exchange, ...] = ()
    reflection: Reflection | None = None
