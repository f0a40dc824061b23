"""A device to tune on that is a function of the config, and outcomes made with it.

Nothing is compiled or timed. Two parameters, BLOCK and k.num_warps; 256 and 8 are the fastest, and each
step away from them costs a tenth, so every ranking in a test can be worked out by hand.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fakes import BOUND, ENVIRONMENT, SPEC, FakeWorker
from kernelwright.model import (
    AS_KEPT,
    BenchCase,
    BenchReport,
    Candidate,
    Case,
    CaseInfo,
    CaseResult,
    Environment,
    Evaluation,
    Implementation,
    LibraryMode,
    Loading,
    ProblemInfo,
    Status,
    TensorSpec,
    Timing,
)
from kernelwright.source import apply_config, kernel_configs
from kernelwright.spaces.recorded import Entry, RecordedResources, RecordedSpace, places
from kernelwright.spaces.space import Config, Parameter, Space, configs
from kernelwright.tune.records import CaseTime, Footprint, Found, TimeKind

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    tl.store(x, n)


BLOCK = 128


def kernel_function(x):
    k[(1,)](x, 1, BLOCK=BLOCK, num_warps=4)
    return x
"""
SPACE = Space(
    parameters=(
        Parameter(name="BLOCK", choices=(32, 64, 128, 256, 512), default=128),
        Parameter(name="k.num_warps", choices=(1, 2, 4, 8), default=4),
    )
)
DEFAULT = {"BLOCK": 128, "k.num_warps": 4}
BEST = {"BLOCK": 256, "k.num_warps": 8}
SHAPES = {"big": (64, 64), "wide": (4, 4096)}


def problem(*cases: str) -> ProblemInfo:
    """With these timed cases, "big" alone unless said, and a small and a held-out one."""
    named = [Case(name=name) for name in cases or ("big",)]
    named += [Case(name="small", small=True), Case(name="odd", held_out=True)]
    return ProblemInfo(
        name="double",
        format="native",
        source="# a reference\n",
        cases=tuple(
            CaseInfo(
                case=case, inputs=(spec_of(case.name),), outputs=(SPEC,), bytes=32768, flop=200_000_000, bound=BOUND
            )
            for case in named
        ),
    )


def spec_of(case: str) -> TensorSpec:
    rows, columns = SHAPES.get(case, (8, 8))
    return TensorSpec(shape=(rows, columns), dtype="float32", stride=(columns, 1))


def steps(config: Config) -> float:
    """How many halvings and doublings a config is away from the best."""
    return abs(math.log2(config["BLOCK"] / BEST["BLOCK"])) + abs(math.log2(config["k.num_warps"] / 8))


def time_us(config: Config, case: str) -> float:
    """ "big" as the docstring says; "wide" is fastest at a block of 512."""
    away = steps(config) if case == "big" else abs(math.log2(config["BLOCK"] / 512))
    return 100.0 * 1.1**away


def footprint_of(config: Config) -> Footprint:
    """Of blocks of 512 the kernel spills."""
    large = config["BLOCK"] == 512
    return Footprint(
        shared_bytes=config["BLOCK"] * 4, registers=32, spill_bytes=1024 if large else 0,
        num_warps=config["k.num_warps"], occupancy=0.25 if large else 1.0,
    )  # fmt: skip


def passed(config: Config, cases: tuple[str, ...], time_of: Callable[[Config, str], float] = time_us) -> Found:
    times = [(case, time_of(config, case)) for case in cases]
    return Found(
        status=Status.PASSED,
        times=tuple(CaseTime(case=case, median_us=us, ci95_us=(us * 0.999, us * 1.001)) for case, us in times),
        footprint=footprint_of(config),
        compiled=str(sorted(config.items())),
        stages_s={"compile": 0.5, "time": 0.1},
    )


@dataclass
class FakeDevice:
    """`tune.Device` as a function. fails: a status and reason for a config, or None. Those of the compiler come from
    `compile`. pairs: whether there are finals; true_of: the times that they see. calls: what was asked, as it came."""

    cases: tuple[str, ...] = ("big",)
    fails: Callable[[Config], tuple[Status, str] | None] = lambda config: None
    fails_again: Callable[[Config], tuple[Status, str] | None] = lambda config: None
    """What the confirmation says."""
    fails_late: Callable[[Config], tuple[Status, str] | None] = lambda config: None
    """What the finals say."""
    time_of: Callable[[Config, str], float] = time_us
    true_of: Callable[[Config, str], float] | None = None
    least_us: float | None = None
    library: LibraryMode = "none"
    pairs: bool = True
    delay_s: Callable[[Config], float] = lambda config: 0.0
    kind: TimeKind = "measured"
    name: str = "Fake GPU"
    environment: Environment = ENVIRONMENT
    noise_floors: Mapping[str, float | None] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def compile(self, config: Config) -> Found:
        self._note("compile", config)
        failed = self.fails(config)
        if failed is not None and failed[0] in (Status.COMPILE_ERROR, Status.REJECTED):
            return Found(status=failed[0], reason=failed[1])
        return Found(status=Status.NOT_VERIFIED, footprint=footprint_of(config))

    def measure(self, config: Config) -> Found:
        self._note("measure", config)
        time.sleep(self.delay_s(config))
        failed = self.fails(config)
        return passed(config, self.cases, self.time_of) if failed is None else Found(status=failed[0], reason=failed[1])

    def finals(self, configs: Mapping[str, Config], against: str) -> BenchReport | None:
        self._note("finals", configs[against])
        if not self.pairs:
            return None
        return BenchReport(
            problem="double",
            environment=self.environment,
            cases=tuple(
                BenchCase(
                    case=case, held_out=False, bound_us=50.0, bound_by="bytes", noise_floor=self.noise_floors.get(case),
                    implementations=tuple(self._row(name, case, configs, against) for name in configs),
                )
                for case in self.cases
            ),
        )  # fmt: skip

    def confirm(self, config: Config) -> Found | None:
        self._note("confirm", config)
        failed = self.fails_again(config)
        return passed(config, self.cases) if failed is None else Found(status=failed[0], reason=failed[1])

    def _row(self, name: str, case: str, configs: Mapping[str, Config], against: str) -> Implementation:
        true_of = self.true_of or self.time_of
        failed = self.fails_late(configs[name])
        if failed is not None:
            return Implementation(name=name, status=failed[0], reason=failed[1])
        us, base_us = true_of(configs[name], case), true_of(configs[against], case)
        speedup = None if self.fails_late(configs[against]) is not None else base_us / us
        verdict = None if speedup is None or name == against else "faster" if speedup > 1.005 else "tie"
        if speedup is not None and speedup < 1 / 1.005:
            verdict = "slower"
        return Implementation(
            name=name, status=Status.PASSED, median_us=us, ci95_us=(us * 0.999, us * 1.001), speedup=speedup,
            speedup_ci95=None if speedup is None else (speedup * 0.999, speedup * 1.001), verdict=verdict,
        )  # fmt: skip

    def _note(self, what: str, config: Config) -> None:
        with self.lock:
            self.calls.append((what, f"{config['BLOCK']}/{config['k.num_warps']}"))


def config_of(candidate: Candidate) -> Config:
    found = kernel_configs(apply_config(candidate.source, candidate.config))["k"]
    return {"BLOCK": found.kwargs["BLOCK"], "k.num_warps": found.num_warps}


def evaluation_of(candidate: Candidate, purpose: str) -> Evaluation:
    """What a worker would say of the fake device."""
    config = config_of(candidate)
    if config["BLOCK"] == 32:
        return Evaluation(status=Status.WRONG, reason="case small: off by 3")
    if config["k.num_warps"] == 1:
        return Evaluation(status=Status.COMPILE_ERROR, reason="too much shared memory")
    us = time_us(config, "big")
    timing = Timing(kind="measured", median_us=us, ci95_us=(us * 0.999, us * 1.001))
    return Evaluation(
        status=Status.PASSED, score_us=us, timing_kind="measured", verified_on="device", compiled=str(config),
        results=(CaseResult(case="big", status=Status.PASSED, timing=timing),),
    )  # fmt: skip


class TuneWorker(FakeWorker):
    """A fake worker that also holds paired finals. loaded: what it was asked to load."""

    def __init__(self, where: Environment = ENVIRONMENT) -> None:
        super().__init__(answer=evaluation_of, where=where, problem=problem("big"))
        self.loaded: list[tuple[str | None, tuple[str, ...], bool]] = []

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        self.loaded.append((loading.dtype, loading.cases, loading.narrow))
        return super().load(path, loading)

    def bench(
        self, candidates: dict[str, Candidate], cases: tuple[str, ...] = (), max_autotune: bool = False,
        compile: bool = True, against: str | None = None,
    ) -> BenchReport:  # fmt: skip
        assert against is not None
        assert cases == ("big",)
        named = {name: config_of(candidate) for name, candidate in candidates.items()}
        report = FakeDevice().finals(named, against)
        assert report is not None
        return report


def recorded_space() -> RecordedSpace:
    """Every config of `SPACE`: blocks of 512 do not compile, and one warp takes too long."""

    def entry(config: Config) -> Entry:
        at = places(SPACE, config)
        if config["BLOCK"] == 512:
            return Entry(places=at, status=Status.COMPILE_ERROR, reason="too much shared memory")
        if config["k.num_warps"] == 1:
            return Entry(places=at, status=Status.TIMEOUT, reason="the kernels did not finish in 20 s")
        us = time_us(config, "big")
        took = RecordedResources(registers=32, spill_bytes=0, shared_bytes=config["BLOCK"], occupancy=0.5)
        return Entry(places=at, status=Status.PASSED, time_us=us, ci95_us=(us * 0.999, us * 1.001), footprint=took)

    return RecordedSpace(
        problem="double", case="big", candidate=SOURCE, environment=ENVIRONMENT, kind="measured", space=SPACE,
        entries=tuple(entry(config) for config in configs(SPACE)),
    )  # fmt: skip
