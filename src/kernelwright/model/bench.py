"""Records of `bench`: the times of all implementations on every case, and the report of `bench --against`."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import LibraryMode, Record
from kernelwright.model.clocks import Clocks
from kernelwright.model.evaluation import LibraryShare, Status, Timing
from kernelwright.model.machine import Environment
from kernelwright.model.problem import titled
from kernelwright.model.proposal import Candidate

FRAMEWORK = ("eager", "compile", "compile_max_autotune")
"""Names of the rows of the framework's implementations."""


class Implementation(Record, frozen=True, kw_only=True):
    """One row of `bench`: an implementation on a case.

    speedup: against the fastest framework row (eager, compile, compile_max_autotune); above 1 is faster. verdict: None
    for the framework's rows. fraction_of_bound: bound_us / median_us.
    """

    name: str
    status: Status
    reason: str = ""
    median_us: float | None = None
    ci95_us: tuple[float, float] | None = None
    call_us: float | None = None
    issue_us: float | None = None
    warm_us: float | None = None
    """Device time with a warm cache; `median_us` is with a cold cache."""
    speedup: float | None = None
    speedup_ci95: tuple[float, float] | None = None
    verdict: Literal["faster", "tie", "slower"] | None = None
    fraction_of_bound: float | None = None
    below_bound: str = ""
    """Remark on a time below the bound; a candidate was then verified again on all inputs."""
    kind: Literal["measured", "estimate"] = "measured"
    repeats_us: tuple[float, ...] = ()
    """The median of each process of `bench --repeat`; this row is that of the middle one. Empty without repeats."""
    spread: float | None = None
    """Largest minus smallest value of `repeats_us`, as a fraction of their median."""
    samples_us: tuple[float, ...] = ()
    method: str = ""
    clocks: Clocks | None = None
    library: tuple[LibraryShare, ...] = ()
    """As in `CaseResult`."""
    throttled: str = ""
    """Why a faster candidate gets no verdict: the GPU lowered its clock during the measurement."""

    @property
    def timing(self) -> Timing | None:
        """The time of the row, without its samples. None if it has no time, or its status is neither passed nor
        not_verified."""
        if self.median_us is None or self.status not in (Status.PASSED, Status.NOT_VERIFIED):
            return None
        return Timing(
            kind=self.kind, median_us=self.median_us, ci95_us=self.ci95_us, call_us=self.call_us,
            issue_us=self.issue_us, method=self.method, clocks=self.clocks,
        )  # fmt: skip


class BenchCase(Record, frozen=True, kw_only=True):
    case: str
    held_out: bool
    bound_us: float
    bound_by: str
    bound_kind: Literal["stated", "derived"] | None = None
    """Whether the problem states the figure that sets the bound, or it was derived from forward."""
    implementations: tuple[Implementation, ...]
    order_seed: int | None = None
    """Seed of the order of samples; None if nothing was sampled."""
    exchanged_after: int | None = None
    """Number of samples of each row after which all rows were captured again with their places exchanged."""
    noise_floor: float | None = None
    """Fraction by which the interval of a verdict has to differ from 1; None if no copy of a candidate was sampled."""
    noise_floor_source: str = ""

    def row(self, name: str) -> Implementation | None:
        """The row of an implementation; None where it has none."""
        return next((one for one in self.implementations if one.name == name), None)


class BenchReport(Record, frozen=True, kw_only=True):
    """The document of `bench --json` and of `gallery/<problem>/results/<device>.json`."""

    schema_version: int = 1
    problem: str
    environment: Environment
    cases: tuple[BenchCase, ...]
    command: str = ""
    unqualified: str = ""
    library: LibraryMode = "none"
    """`unqualified` and `library` are as in `Evaluation`."""
    dtype: str | None = None
    """As in `ProblemInfo`."""
    candidates: dict[str, Candidate] = {}
    """The candidate of each row that is not the framework's."""

    @property
    def title(self) -> str:
        """The problem's name for people."""
        return titled(self.problem, self.dtype)


class GateCase(Record, frozen=True, kw_only=True):
    """A candidate compared with its baseline on one case.

    outcome: "failed" if the candidate is not correct, "not measured" if its time or the baseline's is missing.
    slowdown: time of the candidate over time of the baseline, with its 95 % interval.
    """

    case: str
    outcome: Literal["within", "slower", "failed", "not measured"]
    reason: str = ""
    baseline_us: float | None = None
    candidate_us: float | None = None
    slowdown: float | None = None
    slowdown_ci95: tuple[float, float] | None = None


class GateReport(Record, frozen=True, kw_only=True):
    """The document of `bench --against --json`. recorded_on: the device in the baseline's report. max_slowdown: allowed
    slowdown as a fraction, 0.02 for 2 %."""

    schema_version: int = 1
    problem: str
    candidate: str
    baseline: str
    dtype: str | None
    recorded_on: str | None
    max_slowdown: float
    environment: Environment
    cases: tuple[GateCase, ...]

    @property
    def title(self) -> str:
        """The problem's name for people."""
        return titled(self.problem, self.dtype)

    @property
    def refuses(self) -> bool:
        """Whether the candidate is wrong or slower than allowed on at least one case."""
        return any(case.outcome in ("slower", "failed") for case in self.cases)

    @property
    def unmeasured(self) -> tuple[GateCase, ...]:
        return tuple(case for case in self.cases if case.outcome == "not measured")


class BenchSeries(Record, frozen=True, kw_only=True):
    """The document of `bench --json` for a folder of problems: a report for each problem. failures: by problem without
    a report, the reason."""

    schema_version: int = 1
    reports: tuple[BenchReport, ...]
    failures: dict[str, str] = {}
    command: str = ""
