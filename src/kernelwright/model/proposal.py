"""What a strategy asks for and what a proposer hands back."""

from __future__ import annotations

import enum
import hashlib
import json

from kernelwright.model.base import Record


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
    output_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    requests: int = 0
    """HTTP requests made, retries included."""


class Proposal(Record, frozen=True, kw_only=True):
    """What came back from a proposer: a candidate or an error, never both.

    author: who wrote it: "starter", "builtin", "anthropic:<model>", "openai:<model>", "mailbox:<who>",
    "replay:<run>", "script". prompt and reply: hashes of blobs in the journal, None where there was none.
    """

    author: str
    candidate: Candidate | None = None
    error: str | None = None
    usage: Usage = Usage()
    prompt: str | None = None
    reply: str | None = None
    note: str = ""
    """One line on what was changed and why, for people."""
