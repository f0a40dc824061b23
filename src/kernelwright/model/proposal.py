"""Requests of a strategy and answers of a proposer."""

from __future__ import annotations

import enum
import hashlib
import json
from typing import Literal

from kernelwright.model.base import Record

KNOWN = "known kernel"
"""The author of kernels that were there before the run (`RunInfo.known`)."""


class Operator(str, enum.Enum):
    """What a strategy may ask a proposer to do."""

    SEED = "seed"
    IMPROVE = "improve"
    REPAIR = "repair"
    REWRITE_SIMPLY = "rewrite_simply"
    MERGE = "merge"
    TUNE = "tune"


class Candidate(Record, frozen=True, kw_only=True):
    """Source text of a module plus the values of its tunables.

    `config` maps tunable names (see `tunables`) to values; an empty one leaves the source as written.
    """

    source: str
    config: dict[str, int] = {}

    @property
    def id(self) -> str:
        """Twelve hex digits naming source and config."""
        text = json.dumps([self.source, sorted(self.config.items())])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Request(Record, frozen=True, kw_only=True):
    """What a strategy asks for.

    number: 0, 1, 2, … in the order asked; it names the trial. round: which generation, from 0 (the seed).
    parents: trial numbers. candidate: exactly this is to be evaluated (a starter, a stated config).
    """

    number: int
    operator: Operator
    round: int = 0
    parents: tuple[int, ...] = ()
    candidate: Candidate | None = None


class Usage(Record, frozen=True, kw_only=True):
    """What a proposal cost. cost_usd is None where the price is not known."""

    input_tokens: int = 0
    """All of them, those that a cache was read for or written with included."""
    output_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    requests: int = 0
    """HTTP requests made, retries included."""
    assumed: int = 0
    """Answers whose figures are not their own: those that came without usable ones, and those that were abandoned."""
    cached_tokens: int = 0
    """Of input_tokens those that the provider read from its cache; 0 in older journals, as is the next."""
    cache_written_tokens: int = 0
    """Of input_tokens those that it wrote to its cache, where that has a price."""

    @property
    def tokens(self) -> int:
        """Both ways, as a budget counts them: a cached token is one as well."""
        return self.input_tokens + self.output_tokens

    def plus(self, other: Usage) -> Usage:
        """Both together; the cost is not known where that of either is not."""
        known = [usage.cost_usd for usage in (self, other) if usage != Usage() and usage.cost_usd is not None]
        unknown = any(usage != Usage() and usage.cost_usd is None for usage in (self, other))
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(known) if known and not unknown else None,
            seconds=self.seconds + other.seconds,
            requests=self.requests + other.requests,
            assumed=self.assumed + other.assumed,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
        )


class Exchange(Record, frozen=True, kw_only=True):
    """What was asked beside the kernel itself, and what came back: hashes of blobs in the journal. mend: an edit that
    did not apply was asked for again."""

    kind: Literal["plan", "reflect", "mend"]
    prompt: str
    reply: str


class Answered(Record, frozen=True, kw_only=True):
    """One answer that was paid for, recorded when it came. It belongs to request `trial`, whose proposal may need more
    answers. prompt and reply: hashes of blobs. finish: see `llm.Reply`. about: the trial that a reflection is about."""

    trial: int
    kind: Literal["kernel", "plan", "reflect", "mend"]
    prompt: str
    reply: str
    usage: Usage
    finish: str = ""
    about: int | None = None


class Claim(Record, frozen=True, kw_only=True):
    """What a reflection claims of a counter, and whether it is so. holds: None where the counter is not known of both
    trials."""

    counter: str
    direction: Literal["up", "down", "same"]
    holds: bool | None


class Reflection(Record, frozen=True, kw_only=True):
    """What was learned from a surprise: why `trial` was not as fast or as slow as expected."""

    trial: int
    lesson: str
    claims: tuple[Claim, ...] = ()

    @property
    def claims_hold(self) -> bool:
        """Whether every claim was checked and holds, and there is one: else it is an opinion and is not passed on."""
        return bool(self.lesson and self.claims) and all(claim.holds for claim in self.claims)


class Proposal(Record, frozen=True, kw_only=True):
    """What came back from a proposer: a candidate or an error, never both.

    author: who wrote it: "starter", "known kernel", "builtin", "inductor", "anthropic:<model>", "openai:<model>",
    "mailbox:<who>", "replay:<run>", "script". prompt and reply: hashes of blobs in the journal, None where there was
    none.
    """

    author: str
    candidate: Candidate | None = None
    error: str | None = None
    usage: Usage = Usage()
    prompt: str | None = None
    reply: str | None = None
    note: str = ""
    """One line on what was changed and why, for people."""
    expected: float | None = None
    """How many times as fast as its first parent its author expected it to be; None: not said."""
    diagnosis: str = ""
    """What its author says of the diagnosis in the prompt: confirmed, refined or overruled, and why. "": nothing."""
    edit: Literal["applied", "mended", "failed"] | None = None
    """Where it came as a diff: whether that applied, at once or when asked for again. None: a whole module."""
    exchanges: tuple[Exchange, ...] = ()
    reflection: Reflection | None = None
