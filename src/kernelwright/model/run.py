"""Settings of a run, and the head of its journal."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kernelwright.model.base import LibraryMode, Record, Scalar
from kernelwright.model.machine import Environment
from kernelwright.model.problem import ProblemInfo, WhichCases
from kernelwright.model.proposal import Candidate


class Budget(Record, frozen=True, kw_only=True):
    """What a run may spend; None is no limit. Every limit counts what is in flight."""

    trials: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    usd: float | None = None
    gpu_seconds: float | None = None
    """In which candidates are judged, timed and profiled; without a GPU, by the interpreter."""


class BudgetLimit(NamedTuple):
    """A limit of a budget, and how amounts of it are written."""

    name: str
    """Its field in `Budget`; `StopReason` has the same value, and `run/spending.py` says how it is spent."""
    unit: str
    help: str
    """Of the option. {trials}: the default of `optimize`."""
    digits: int = 0
    """Decimals of what is left; 0 for whole numbers."""
    cost_digits: int = 0
    """Decimals of what one request costs."""

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return f"--{self.name.replace('_', '-')}"

    def of(self, budget: Budget) -> float | None:
        """None: no limit."""
        value: float | None = getattr(budget, self.name)
        return value

    def left_text(self, most: float, used: float) -> str:
        """ "6 of 10 trials"."""
        unit = self.unit.removesuffix("s") if most == 1 and not self.digits else self.unit
        return f"{max(most - used, 0):.{self.digits}f} of {self.amount_text(most)} {unit}"

    def amount_text(self, most: float) -> str:
        return f"{most:g}" if self.digits else f"{most:.0f}"


BUDGET_LIMITS = (
    BudgetLimit(
        "trials",
        "trials",
        "Stop after this many trials (default where no limit is given: {trials}, and their tunings).",
    ),
    BudgetLimit("minutes", "minutes", "Stop after this many minutes.", digits=1),
    BudgetLimit("tokens", "tokens", "Stop before more tokens than this are used."),
    BudgetLimit("usd", "USD", "Stop before models cost more than this.", digits=2, cost_digits=4),
    BudgetLimit(
        "gpu_seconds",
        "GPU seconds",
        "Stop before candidates are judged, timed and profiled for longer than this.",
        digits=1,
        cost_digits=1,
    ),
)


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
    """How many candidates may be evaluated at once."""
    thinking: int | None = None
    """How many proposals may be under way at once, beside these; None: as many. Older runs counted both together."""
    dtype: str | None = None
    unqualified: bool = False
    """Whether to go on with a problem that does not qualify; every result then says so."""
    library: LibraryMode | None = None
    """In place of the mode that the problem states; `RunInfo.problem` holds the one that counts."""
    control: Literal["random"] | None = None
    """The arm that says whether the model earned its money; made when the run ends, at equal GPU time."""
    lessons: str | None = None
    """The folder of lesson cards: its cards go into prompts, and what this run learns is added to it. None: neither."""
    cases: WhichCases = "stated"
    """Whether cases were derived where the problem stated none; they were not in older runs."""
    starter: str | None = None
    """The file that was named in place of the problem's own starter; what it held is in `RunInfo`."""

    known: str | None = None
    """The folder whose kernels were tried beside those of the gallery and of earlier runs. None: no other."""

    no_known: bool = False
    """Whether kernels that were there before the run were left out."""

    no_cache: bool = False
    """Whether every candidate is judged, also one that an earlier run found to fail."""

    no_source: bool = False
    """Whether prompts show the problem's operators in place of its text."""


class KnownKernel(Record, frozen=True, kw_only=True):
    """A kernel for the same operators that was there before the run; the search begins with it beside the starter.

    origin: where it is from, for people. ratio: how much faster than the framework's fastest it was there, as a
    geometric mean over the timed cases; None where that was not measured.
    """

    candidate: Candidate
    origin: str
    ratio: float | None = None


class RunInfo(Record, frozen=True, kw_only=True):
    """The head of a journal: written once, before the first event."""

    schema_version: int
    kernelwright: str
    created: str
    settings: RunSettings
    problem: ProblemInfo
    environment: Environment
    starter: Candidate | None = None
    known: tuple[KnownKernel, ...] = ()
    """Judged after the starter; no older journal has any."""
