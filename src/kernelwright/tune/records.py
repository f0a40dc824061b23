"""Records of a tuning: every tried config, the finals and the choices.

Every time has a `kind`. "measured": device time on the device of `environment`. "estimate": a formula over the
compiler's resources. "replayed": a time from a record, which was measured or estimated earlier.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from kernelwright.model import CaseInfo, Environment, LibraryMode, Record, Status, Usage
from kernelwright.spaces.space import Config, Space
from kernelwright.stats import Verdict, geometric_mean

TimeKind = Literal["measured", "estimate", "replayed"]

Origin = Literal["default", "advised", "imported", "sampler"]
"""The origin of a config: the unchanged source, a model, an imported file, or the sampler."""


class Footprint(Record, frozen=True, kw_only=True):
    """Resources of a config, each the maximum over its kernels: shared memory per block, registers and spilled bytes
    per thread, warps per block (None if a record has none). occupancy: the smallest resident fraction of warp slots;
    None if not known."""

    shared_bytes: int
    registers: int
    spill_bytes: int
    num_warps: int | None
    occupancy: float | None = None

    @property
    def order(self) -> tuple[int, int, int]:
        """Sort key of the size: shared memory, then registers, then warps."""
        return self.shared_bytes, self.registers, self.num_warps or 0


class CaseTime(Record, frozen=True, kw_only=True):
    """Median time of one case."""

    case: str
    median_us: float
    ci95_us: tuple[float, float] | None = None


class Found(Record, frozen=True, kw_only=True):
    """A device's result for a config. times: of the scored cases, complete if it passed. stages_s: seconds by stage.
    not_verified: whether the values could not be judged on this machine, which counts as passed for estimates only."""

    status: Status
    reason: str = ""
    times: tuple[CaseTime, ...] = ()
    footprint: Footprint | None = None
    compiled: str | None = None
    """Hash of the machine code: two configs with the same hash are the same kernel."""
    stages_s: dict[str, float] = msgspec.field(default_factory=dict)
    not_verified: bool = False

    @property
    def score_us(self) -> float | None:
        """Geometric mean over the cases; None unless the config passed."""
        if self.status is not Status.PASSED or not self.times:
            return None
        return geometric_mean([time.median_us for time in self.times])

    def time(self, case: str) -> CaseTime | None:
        return next((time for time in self.times if time.case == case), None) if self.score_us else None


class Tried(Record, frozen=True, kw_only=True):
    """A tried config with its result. number: its index in `Outcome.tried`. name: "default", or "gen_2_var_1". at: time
    of the result in UTC. launched: whether it was launched; False: it was refused after compiling."""

    number: int
    name: str
    generation: int
    origin: Origin
    config: Config
    found: Found
    at: str
    launched: bool

    @property
    def score_us(self) -> float | None:
        return self.found.score_us


class Ratio(Record, frozen=True, kw_only=True):
    """The reference's time over a finalist's; above 1 is faster. ci95 is None if there is no interval."""

    speedup: float
    ci95: tuple[float, float] | None
    verdict: Verdict


class FinalCase(Record, frozen=True, kw_only=True):
    """One finalist on one case. ratio is None if it failed."""

    case: str
    status: Status
    reason: str = ""
    median_us: float | None = None
    ci95_us: tuple[float, float] | None = None
    ratio: Ratio | None = None


class Finalist(Record, frozen=True, kw_only=True):
    """One config in the finals. joint: the ratio over all cases; None if a case failed."""

    number: int
    cases: tuple[FinalCase, ...]
    joint: Ratio | None


class Choice(Record, frozen=True, kw_only=True):
    """The chosen config for one case, or (case None) for all. time_us: geometric mean over its cases. default_us: the
    same for the default; None if it failed. why: the reason, one line. confirmed: whether it was verified again on
    every case with fresh seeds; None if the device cannot."""

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
    """Settings of a tuning besides problem, candidate and space. Limits apply to the search, not to the finals."""

    sampler: str = "model"
    seed: int = 0
    trials: int | None = None
    minutes: float | None = None
    in_flight: int = 4
    early_stop: bool = True
    """Whether the search ends when the sampler expects no further improvement."""
    dtype: str | None = None


class Advice(Record, frozen=True, kw_only=True):
    """A model's proposal, made before the search, of configs to try first. useless: number of its configs that are not
    in the space. usage: its cost, even if an earlier call paid for it; zero if a person wrote the answer. reason: why
    the answer is unusable; "" if it is usable."""

    author: str
    configs: tuple[Config, ...]
    useless: int
    usage: Usage
    reason: str = ""


class Outcome(Record, frozen=True, kw_only=True):
    """The complete result of a tuning. device: its name to show, such as "NVIDIA H200, replayed (measured …)". joint:
    the choice for all cases; None if nothing passed. cost_of_one: time of the joint choice over that of each case's
    choice, geometric mean over the cases; 1.02: one config for all cases costs 2 %. refused: by number of a config
    whose confirmation failed, the reason."""

    schema_version: int = 1
    kernelwright: str
    date: str
    kind: TimeKind
    device: str
    environment: Environment
    least_us: float | None = None
    """The shortest time of the replayed record; None if none was replayed."""
    problem: str
    candidate: str
    """The source text."""
    cases: tuple[CaseInfo, ...]
    """The scored cases; empty if the replayed record does not have their shapes."""
    space: Space
    settings: Settings
    advice: Advice | None = None
    tried: tuple[Tried, ...]
    reference: int | None
    """Number of the config that finalists were compared with: the default, or the best if the default failed."""
    finals: tuple[Finalist, ...] = ()
    joint: Choice | None = None
    per_case: tuple[Choice, ...] = ()
    cost_of_one: float | None = None
    refused: dict[int, str] = msgspec.field(default_factory=dict)
    stopped: str
    seconds: float
    unqualified: str = ""
    library: LibraryMode = "none"
    """The library steps that the candidate was allowed."""

    @property
    def default(self) -> Tried:
        return next(tried for tried in self.tried if tried.origin == "default")

    @property
    def case_names(self) -> tuple[str, ...]:
        """Names of the scored cases in the problem's order; if the cases are not known, those of the times."""
        known = [info.case.name for info in self.cases]
        return tuple(known or dict.fromkeys(time.case for tried in self.tried for time in tried.found.times))
