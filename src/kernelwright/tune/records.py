"""The result of a tuning: every config tried, the finals, the choices. Frozen data, kept as JSON and shown.

`kind` goes wherever a time goes. "measured" is device time on the device of `environment`, "estimate"
a formula over the compiler's resources, "replayed" what a record says that was measured (or estimated) before.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from kernelwright.model import CaseInfo, Environment, LibraryMode, Record, Status, Usage
from kernelwright.spaces.space import Config, Space
from kernelwright.stats import Verdict, geometric_mean

TimeKind = Literal["measured", "estimate", "replayed"]

Origin = Literal["default", "advised", "imported", "sampler"]
"""Who asked for a config: the source as it is written, a model, a file that was handed in, or the sampler."""


class Footprint(Record, frozen=True, kw_only=True):
    """What the largest of a config's kernels takes: shared memory per block, registers and spilled bytes per thread,
    warps per block (None where a record does not say). occupancy: the least share of warps that are resident; None
    where that is not known."""

    shared_bytes: int
    registers: int
    spill_bytes: int
    num_warps: int | None
    occupancy: float | None = None

    @property
    def order(self) -> tuple[int, int, int]:
        """Smaller is smaller: shared memory, then registers, then warps."""
        return self.shared_bytes, self.registers, self.num_warps or 0


class CaseTime(Record, frozen=True, kw_only=True):
    """Median time of one case."""

    case: str
    median_us: float
    ci95_us: tuple[float, float] | None = None


class Found(Record, frozen=True, kw_only=True):
    """What a device says of a config. times: of the scored cases, complete where it passed. stages_s: by stage.
    not_verified: whether the values could not be judged here, which counts as passed for estimates only."""

    status: Status
    reason: str = ""
    times: tuple[CaseTime, ...] = ()
    footprint: Footprint | None = None
    compiled: str | None = None
    """Names the machine code: two configs with it are one kernel."""
    stages_s: dict[str, float] = msgspec.field(default_factory=dict)
    not_verified: bool = False

    @property
    def score_us(self) -> float | None:
        """Geometric mean over the cases; None unless it passed."""
        if self.status is not Status.PASSED or not self.times:
            return None
        return geometric_mean([time.median_us for time in self.times])

    def time(self, case: str) -> CaseTime | None:
        return next((time for time in self.times if time.case == case), None) if self.score_us else None


class Tried(Record, frozen=True, kw_only=True):
    """One config and what became of it. number: in the order asked. name: "default", or "gen_2_var_1". at: when, in
    UTC. launched: whether it came as far as a launch; the others were refused by the compiler or its resources."""

    number: int
    name: str
    generation: int
    origin: Origin
    config: Config
    found: Found
    at: str
    launched: bool = True

    @property
    def score_us(self) -> float | None:
        return self.found.score_us


class Ratio(Record, frozen=True, kw_only=True):
    """The reference's time over a finalist's, above 1 is faster. ci95 is None where there are no intervals."""

    speedup: float
    ci95: tuple[float, float] | None
    verdict: Verdict


class FinalCase(Record, frozen=True, kw_only=True):
    """One finalist on one case. ratio is None where it failed."""

    case: str
    status: Status
    reason: str = ""
    median_us: float | None = None
    ci95_us: tuple[float, float] | None = None
    ratio: Ratio | None = None


class Finalist(Record, frozen=True, kw_only=True):
    """One config in the finals. joint: over all cases, None where one of them failed."""

    number: int
    cases: tuple[FinalCase, ...]
    joint: Ratio | None = None


class Choice(Record, frozen=True, kw_only=True):
    """The config for one case, or (case None) for all. time_us: geometric mean over the cases it is for. default_us:
    the default's, None where that failed. why: one line. confirmed: proven again on every case, with fresh seeds;
    None where there is no way to."""

    case: str | None
    number: int
    config: Config
    time_us: float
    ci95_us: tuple[float, float] | None = None
    default_us: float | None = None
    ratio: Ratio
    why: str
    confirmed: bool | None = None


class Settings(Record, frozen=True, kw_only=True):
    """What decides a tuning, beside problem, candidate and space. Limits are on the search; finals come after it."""

    sampler: str = "model"
    seed: int = 0
    trials: int | None = None
    minutes: float | None = None
    in_flight: int = 4
    early_stop: bool = True
    """Whether a sampler may end the search because it expects nothing more."""
    dtype: str | None = None


class Advice(Record, frozen=True, kw_only=True):
    """What a model was asked for before the search: configs to begin with. useless: how many of its configs are none
    of the space. usage: what it cost, also when an earlier call paid for it; nothing where a person wrote the
    answer. reason: why it is of no use."""

    author: str
    configs: tuple[Config, ...]
    useless: int
    usage: Usage = Usage()
    reason: str = ""


class Outcome(Record, frozen=True, kw_only=True):
    """All of a tuning. device: as to be shown, "NVIDIA H200, replayed (measured …)" where it was. joint: None where
    nothing passed. cost_of_one: geometric mean over the cases of the joint choice's time over that of the case's own
    choice; 1.02 says that one config for all cases costs 2 %. refused: finalists whose confirmation failed."""

    schema_version: int = 1
    kernelwright: str
    date: str
    kind: TimeKind
    device: str
    environment: Environment
    least_us: float | None = None
    """The shortest time of the record that was replayed."""
    problem: str
    candidate: str
    """The source text."""
    cases: tuple[CaseInfo, ...]
    """The scored ones; empty where a record is replayed that does not hold their shapes."""
    space: Space
    settings: Settings
    advice: Advice | None = None
    tried: tuple[Tried, ...]
    reference: int | None
    """The config that finalists were compared with: the default, or the best where that failed."""
    finals: tuple[Finalist, ...] = ()
    joint: Choice | None = None
    per_case: tuple[Choice, ...] = ()
    cost_of_one: float | None = None
    refused: dict[int, str] = msgspec.field(default_factory=dict)
    stopped: str
    seconds: float
    unqualified: str = ""
    library: LibraryMode = "none"
    """The library steps that the candidate might hold."""

    @property
    def default(self) -> Tried:
        return next(tried for tried in self.tried if tried.origin == "default")

    @property
    def case_names(self) -> tuple[str, ...]:
        """In the problem's order; those of the times where the cases themselves are not known."""
        known = [info.case.name for info in self.cases]
        return tuple(known or dict.fromkeys(time.case for tried in self.tried for time in tried.found.times))
