"""Settings and budget of a run, and the head of its journal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, TypedDict

import msgspec
from msgspec import Meta

from kernelwright.model.base import LibraryMode, Record, Scalar
from kernelwright.model.machine import Environment
from kernelwright.model.problem import Loading, ProblemInfo, WhichCases
from kernelwright.model.proposal import Candidate, Operator, Request


class Budget(Record, frozen=True, kw_only=True):
    """Limits of a run; None is no limit. Every limit also counts work in flight."""

    trials: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    usd: float | None = None
    gpu_seconds: float | None = None
    """Seconds in which candidates are judged, timed and profiled; without a GPU, those of the interpreter."""

    def replaced_by(self, limits: Budget) -> Budget:
        """These limits, with those that `limits` has in their place."""
        given = {name: value for name, value in msgspec.structs.asdict(limits).items() if value is not None}
        return msgspec.structs.replace(self, **given)


class BudgetLimit(NamedTuple):
    """A limit of a budget, and the format of its amounts."""

    name: str
    """Name of the field in `Budget` and value in `StopReason`; `run/spending.py` computes the spent amount."""
    unit: str
    help: str
    """Help text of the option. {trials}: the default of `optimize`."""
    digits: int = 0
    """Decimals of the remaining amount; 0 for integers."""
    cost_digits: int = 0
    """Decimals of the cost of one request."""

    @property
    def flag(self) -> str:
        """The command-line option."""
        return f"--{self.name.replace('_', '-')}"

    def of(self, budget: Budget) -> float | None:
        """This limit of a budget; None: no limit."""
        value: float | None = getattr(budget, self.name)
        return value

    def left_text(self, most: float, used: float) -> str:
        """The remaining amount, such as "6 of 10 trials"."""
        unit = self.unit.removesuffix("s") if most == 1 and not self.digits else self.unit
        return f"{max(most - used, 0):.{self.digits}f} of {self.amount_text(most)} {unit}"

    def amount_text(self, most: float) -> str:
        return f"{most:g}" if self.digits else f"{most:.0f}"


BUDGET_LIMITS = (
    BudgetLimit(
        "trials",
        "trials",
        "Stop after this many trials, without known kernels and tunings (default where no limit is given: {trials}; "
        "for several problems as many for each). A limit given for several problems is that of all together.",
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


Positive = Annotated[int, Meta(ge=1)]
PositiveFloat = Annotated[float, Meta(gt=0, le=sys.float_info.max)]


class Switch(NamedTuple):
    """An option of a run that is on or off, off by default."""

    name: str
    """Name of the field in `RunOptions` and `RunSettings`."""
    help: str

    @property
    def flag(self) -> str:
        """The command-line option."""
        return f"--{self.name.replace('_', '-')}"


SWITCHES = (
    Switch("no_known", "Do not start from kernels of the gallery and of earlier runs in ./runs."),
    Switch("no_cache", "Judge a candidate also where an earlier run on this machine found that it fails."),
    Switch("unqualified", "Go on even if the problem accepts trivial answers (see `check`); every result is marked."),
    Switch("no_source", "Show the proposer the problem's operators and not its source; kernels are shown in full."),
)


class RunOptions(Record, frozen=True, kw_only=True):
    """The settings of a run as a user gives them: options of `optimize`, or fields of a settings file. None: not given.

    option, proposer_option: options of the strategy and of the proposer, by name. model, base_url: two of the
    proposer's. known: a folder whose kernels are tried first. out: the run's folder. target: compile target, only
    without a GPU. gpus: "all", a number, or UUIDs joined by commas, of this machine. workers: places elsewhere, such as
    "ssh:HOST*4". Both are of a session: a run does not keep them.
    """

    problem: str | None = None
    starter: str | None = None
    strategy: str | None = None
    option: dict[str, Scalar] | None = None
    proposer: str | None = None
    proposer_option: dict[str, Scalar] | None = None
    model: str | None = None
    base_url: str | None = None
    trials: Positive | None = None
    minutes: PositiveFloat | None = None
    tokens: Positive | None = None
    usd: PositiveFloat | None = None
    gpu_seconds: PositiveFloat | None = None
    seed: int | None = None
    in_flight: Positive | None = None
    thinking: Positive | None = None
    dtype: str | None = None
    cases: Literal["stated", "derived"] | None = None
    control: Literal["random"] | None = None
    lessons: str | None = None
    unqualified: bool | None = None
    known: str | None = None
    no_known: bool | None = None
    no_cache: bool | None = None
    no_source: bool | None = None
    library: LibraryMode | None = None
    out: str | None = None
    target: str | None = None
    gpus: str | Positive | None = None
    workers: tuple[str, ...] | None = None

    @property
    def limits(self) -> Budget:
        """The limits that were given."""
        return Budget(**{limit.name: getattr(self, limit.name) for limit in BUDGET_LIMITS})


FilePath = str | os.PathLike[str]


class SeriesOptions(TypedDict, total=False):
    """Keyword arguments of `optimize_all` in Python: the fields of `RunOptions` that fit several problems."""

    strategy: str | None
    option: Mapping[str, Scalar] | None
    proposer: str | None
    proposer_option: Mapping[str, Scalar] | None
    model: str | None
    base_url: str | None
    trials: int | None
    minutes: float | None
    tokens: int | None
    usd: float | None
    gpu_seconds: float | None
    seed: int | None
    in_flight: int | None
    thinking: int | None
    dtype: str | None
    cases: Literal["stated", "derived"] | None
    lessons: FilePath | None
    unqualified: bool | None
    known: FilePath | None
    no_known: bool | None
    no_cache: bool | None
    no_source: bool | None
    library: LibraryMode | None
    out: FilePath | None
    target: str | None
    gpus: str | int | None
    workers: Sequence[str] | None


class OptimizeOptions(SeriesOptions, total=False):
    """Keyword arguments of `optimize` in Python."""

    starter: FilePath | None
    control: Literal["random"] | None


class RunSettings(Record, frozen=True, kw_only=True):
    """All settings of a run, stored in its journal. Options are plain data that the strategy or proposer reads."""

    problem: str
    strategy: str = "beam"
    strategy_options: dict[str, Scalar] = {}
    proposer: str = "builtin"
    proposer_options: dict[str, Scalar] = {}
    seed: int = 0
    budget: Budget = Budget()
    in_flight: int = 1
    """Maximum number of concurrent evaluations."""
    thinking: int | None = None
    """Maximum number of concurrent proposals; None: the same as in_flight."""
    dtype: str | None = None
    unqualified: bool = False
    """Whether to continue with a problem that does not qualify; every result then says so."""
    library: LibraryMode | None = None
    """Overrides the mode that the problem states; `RunInfo.problem` has the effective one."""
    control: Literal["random"] | None = None
    """The control arm: a search without a model after the run, with the same GPU time, for comparison."""
    lessons: str | None = None
    """The folder of lesson cards: prompts show its cards, and the run's lessons are added to it. None: neither."""
    cases: WhichCases = "stated"
    """Whether cases were derived where the problem states none."""
    starter: str | None = None
    """The file that was given in place of the problem's starter; `RunInfo` has its content."""

    known: str | None = None
    """A folder of kernels to try besides those of the gallery and of earlier runs; None: no folder."""

    no_known: bool = False
    """Whether to leave out kernels that existed before the run."""

    no_cache: bool = False
    """Whether to judge every candidate, even one whose failure an earlier run has cached."""

    no_source: bool = False
    """Whether prompts show the problem's operators in place of its text."""

    @property
    def loading(self) -> Loading:
        """How the run's problem is loaded."""
        return Loading(dtype=self.dtype, library=self.library, which=self.cases, unqualified=self.unqualified)

    def counts(self, request: Request) -> bool:
        """Whether a request is a trial that a budget counts: not a known kernel, nor a tuning that a new kernel gets
        before it is judged (the strategy's option `tuning`)."""
        if request.operator is Operator.TUNE and str(self.strategy_options.get("tuning", 0)) != "0":
            return False
        return request.candidate is None or request.number == 0


class KnownKernel(Record, frozen=True, kw_only=True):
    """A kernel for the same operators that existed before the run; the search starts from it and the starter.

    origin: its source, for people. ratio: its speedup there over the fastest framework implementation, geometric mean
    over the timed cases; None if not measured.
    """

    candidate: Candidate
    origin: str
    ratio: float | None


class RunInfo(Record, frozen=True, kw_only=True):
    """The head of a journal: written once, before the first event."""

    schema_version: int
    kernelwright: str
    created: str
    settings: RunSettings
    problem: ProblemInfo
    environment: Environment
    starter: Candidate | None
    known: tuple[KnownKernel, ...]
    """Judged after the starter."""
