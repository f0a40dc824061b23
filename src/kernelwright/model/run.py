"""What decides a run, and the head of its journal."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record, Scalar
from kernelwright.model.machine import Environment
from kernelwright.model.problem import ProblemInfo
from kernelwright.model.proposal import Candidate


class Budget(Record, frozen=True, kw_only=True):
    """What a run may spend; None is no limit. Every limit counts what is in flight."""

    trials: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    usd: float | None = None
    gpu_seconds: float | None = None
    """In which candidates are judged, timed and profiled; without a GPU, by the interpreter."""


class RunSettings(Record, frozen=True, kw_only=True):
    """Everything that decides a run, kept in its journal. Options are plain data, read by what they name."""

    problem: str
    strategy: str = "beam"
    strategy_options: dict[str, Scalar] = {}
    proposer: str = "builtin"
    proposer_options: dict[str, Scalar] = {}
    seed: int = 0
    budget: Budget = Budget()
    in_flight: int = 1
    """How many requests may be under way at once."""
    dtype: str | None = None
    unqualified: bool = False
    """Whether to go on with a problem that does not qualify; every result then says so."""
    control: Literal["random"] | None = None
    """The arm that says whether the model earned its money; made when the run ends, at equal GPU time."""
    lessons: str | None = None
    """The folder of lesson cards: its cards go into prompts, and what this run learns is added to it. None: neither."""
    starter: str | None = None
    """The file that was named in place of the problem's own starter; what it held is in `RunInfo`."""


class RunInfo(Record, frozen=True, kw_only=True):
    """The head of a journal: written once, before the first event."""

    schema_version: int
    kernelwright: str
    created: str
    settings: RunSettings
    problem: ProblemInfo
    environment: Environment
    starter: Candidate | None = None
