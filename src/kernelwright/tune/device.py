"""The `Device` protocol of a tuning, which compiles and measures configs: a worker, or a recorded space.

The result of a failing config is a value (`Found`). An exception means that kernelwright or the machine is at fault.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from kernelwright.codec import shared
from kernelwright.errors import ConfigError, RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import (
    BenchReport,
    Candidate,
    Environment,
    Evaluation,
    Incumbent,
    LibraryMode,
    ProblemInfo,
    Status,
    incumbent_of,
    may_lead,
)
from kernelwright.spaces.recorded import RecordedDevice, RecordedSpace, places
from kernelwright.spaces.space import Config
from kernelwright.spaces.written import candidate_for
from kernelwright.tune.records import CaseTime, Footprint, Found, TimeKind

COMPILE_FAILURES = (Status.COMPILE_ERROR, Status.REJECTED)

LIKELY = 3
"""Number of finalists that are compiled ahead for a confirmation: the first, which is the default, and the fastest of
the search. Unneeded compilations would keep the cores busy after the end of the tuning."""


class Device(Protocol):
    """A device. Thread-safe. kind: of its times. name: the device's name to show. least_us: the shortest time of a
    record; None if not known. library: the library steps that the candidate is allowed."""

    kind: TimeKind
    name: str
    environment: Environment
    least_us: float | None
    library: LibraryMode

    def compile(self, config: Config) -> Found:
        """Compile a config without launching it. The status is `not_verified`, with its resources, if it can run; else
        the failure."""
        ...

    def measure(self, config: Config) -> Found:
        """Verify and time a config on every scored case. Other cases may be left to `confirm`."""
        ...

    def finals(self, configs: Mapping[str, Config], against: str) -> BenchReport | None:
        """Time configs in turn, in pairs with the config `against`; None if this device cannot time pairs."""
        ...

    def confirm(self, config: Config) -> Found | None:
        """Verify a config again with fresh seeds on every case, including held-out ones; None if this device cannot."""
        ...


class LiveDevice:
    """A worker with the problem loaded. Without a GPU its times are estimates, and there are no finals."""

    least_us: float | None = None

    def __init__(self, worker: Worker, source: str, problem: ProblemInfo) -> None:
        """problem: the result of the worker's `load`, with the scored cases."""
        self.worker = worker
        self.source = source
        self.cases = tuple(info.case.name for info in problem.cases if info.case.timed)
        self.environment = worker.environment()
        self.library = problem.library
        self.incumbent: Incumbent | None = None
        self.best_us = math.inf
        self.lock = threading.Lock()
        on_gpu = self.environment.device is not None
        self.kind: TimeKind = "measured" if on_gpu else "estimate"
        self.name = self.environment.device or f"no GPU, estimates for {self.environment.target}"

    def compile(self, config: Config) -> Found:
        return self._found(config, lambda candidate: self.worker.compile(candidate, "tune"))

    def measure(self, config: Config) -> Found:
        return self._found(config, self._measured)

    def _measured(self, candidate: Candidate) -> Evaluation:
        """Evaluate in a race with the fastest config so far, and update that."""
        evaluation = self.worker.evaluate(candidate, "tune", self.incumbent)
        with self.lock:
            score_us = evaluation.score_us
            if score_us is not None and score_us < self.best_us and may_lead(evaluation):
                self.incumbent, self.best_us = incumbent_of(candidate, evaluation), score_us
        return evaluation

    def finals(self, configs: Mapping[str, Config], against: str) -> BenchReport | None:
        if self.kind != "measured":
            return None
        candidates = {name: candidate_for(self.source, config) for name, config in configs.items()}
        # One of these will be confirmed on every case: compile them for it while the GPU is busy.
        ahead = ThreadPoolExecutor(LIKELY, thread_name_prefix="compile")
        for candidate in [*candidates.values()][:LIKELY]:
            ahead.submit(self.worker.compile, candidate, "confirm")
        try:
            return self.worker.bench(candidates, self.cases, against=against)
        finally:
            ahead.shutdown(wait=False, cancel_futures=True)

    def confirm(self, config: Config) -> Found | None:
        return self._found(config, lambda candidate: self.worker.evaluate(candidate, "confirm"))

    def _found(self, config: Config, ask: Callable[[Candidate], Evaluation]) -> Found:
        try:
            candidate = candidate_for(self.source, config)
        except ConfigError as error:
            return Found(status=Status.REJECTED, reason=str(error))
        return found_of(ask(candidate), self.kind)


def found_of(evaluation: Evaluation, kind: TimeKind) -> Found:
    """The result of an evaluation as a `Found`. If times are estimates, a config that compiles but could not be judged
    on this machine counts as passed, with `not_verified` set."""
    times = tuple(
        CaseTime(case=result.case, median_us=result.timing.median_us, ci95_us=result.timing.ci95_us)
        for result in evaluation.results
        if result.timing is not None
    )
    judged = evaluation.status is not Status.NOT_VERIFIED
    passed = not judged and kind == "estimate" and bool(times)
    return Found(
        status=Status.PASSED if passed else evaluation.status,
        reason=evaluation.reason,
        times=times,
        footprint=footprint_of(evaluation),
        compiled=evaluation.compiled,
        stages_s=evaluation.stages_s,
        not_verified=passed,
    )


def footprint_of(evaluation: Evaluation) -> Footprint | None:
    """The largest of each resource over the kernels, and the smallest occupancy; None without kernels."""
    kernels = evaluation.kernels
    if not kernels:
        return None
    return Footprint(
        shared_bytes=max(kernel.shared_bytes for kernel in kernels),
        registers=max(kernel.registers for kernel in kernels),
        spill_bytes=max(kernel.spill_bytes for kernel in kernels),
        num_warps=max(kernel.num_warps for kernel in kernels),
        occupancy=min(kernel.occupancy for kernel in kernels),
    )


class ReplayedDevice:
    """A device that replays a recorded space. Nothing is compiled, launched or timed; its times have the kind
    "replayed"."""

    kind: TimeKind = "replayed"

    def __init__(self, recorded: RecordedSpace) -> None:
        self.recorded = recorded
        self.device = RecordedDevice(recorded)
        self.environment = recorded.environment
        self.name = self.device.name
        self.least_us = recorded.best_us
        self.library = recorded.library

    def compile(self, config: Config) -> Found:
        """Replay a recorded refusal by the compiler. Any other config, even one without a record, can run: its status
        is `not_verified`."""
        found = self.measure(config)
        recorded = places(self.recorded.space, config) in self.device.entries
        if recorded and found.status in COMPILE_FAILURES:
            return found
        return Found(status=Status.NOT_VERIFIED, footprint=found.footprint if recorded else None)

    def measure(self, config: Config) -> Found:
        try:
            replayed = self.device.measure(config)
        except RequestError as error:
            return Found(status=Status.REJECTED, reason=str(error))
        took = replayed.footprint
        passed = replayed.status is Status.PASSED and replayed.time_us is not None
        time = CaseTime(case=self.recorded.case, median_us=replayed.time_us or 0.0, ci95_us=replayed.ci95_us)
        return Found(
            status=replayed.status,
            reason=replayed.reason,
            times=(time,) if passed else (),
            footprint=None if took is None else Footprint(**shared(took, Footprint), num_warps=None),
            stages_s={"recorded": replayed.seconds},
        )  # fmt: skip

    def finals(self, configs: Mapping[str, Config], against: str) -> BenchReport | None:
        return None

    def confirm(self, config: Config) -> Found | None:
        return None
