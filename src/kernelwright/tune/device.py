"""The device that configs are tried on: a worker, or a recorded space in its place.

It chooses nothing. A failing config is a value (`Found`), whatever it did; an exception is our fault or
the machine's.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

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
"""Finalists that are compiled ahead for a confirmation, the first, which is the default, and the fastest of the search:
compilations that are not needed any more would keep the cores busy when the tuning is done."""


class Device(Protocol):
    """Thread-safe. kind and name: what times are called, and where they come from. least_us: the shortest time of a
    record, None where it is not known. library: the library steps that the candidate may hold."""

    kind: TimeKind
    name: str
    environment: Environment
    least_us: float | None
    library: LibraryMode

    def compile(self, config: Config) -> Found:
        """Resources, or why the config cannot run; `not_verified` where nothing is against it. Launches nothing."""
        ...

    def measure(self, config: Config) -> Found:
        """Verified and timed on every scored case. The others may wait for `confirm`."""
        ...

    def finals(self, configs: Mapping[str, Config], against: str) -> BenchReport | None:
        """Sampled in turn, paired with `against`; None where this device has no pairs to offer."""
        ...

    def confirm(self, config: Config) -> Found | None:
        """Proven again with fresh seeds on every case, held-out ones too; None where this device cannot."""
        ...


class LiveDevice:
    """A worker with the problem loaded. Without a GPU its times are estimates, and there are no finals."""

    least_us: float | None = None

    def __init__(self, worker: Worker, source: str, problem: ProblemInfo) -> None:
        """problem: as the worker loaded it, with the cases that are scored."""
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
        """Timed against the fastest config so far."""
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
        # One of these will be confirmed on every case: the compilers begin while the GPU is busy.
        ahead = ThreadPoolExecutor(LIKELY, thread_name_prefix="compile")
        for candidate in [*candidates.values()][:LIKELY]:
            ahead.submit(self.worker.compile, candidate, "confirm")
        try:
            return self.worker.bench(candidates, self.cases, against=against)
        finally:
            ahead.shutdown(wait=False, cancel_futures=True)

    def confirm(self, config: Config) -> Found | None:
        return self._found(config, lambda candidate: self.worker.evaluate(candidate, "confirm"))

    def _found(self, config: Config, ask: _Ask) -> Found:
        try:
            candidate = candidate_for(self.source, config)
        except ConfigError as error:
            return Found(status=Status.REJECTED, reason=str(error))
        return found_of(ask(candidate), self.kind)


class _Ask(Protocol):
    def __call__(self, candidate: Candidate, /) -> Evaluation: ...


def found_of(evaluation: Evaluation, kind: TimeKind) -> Found:
    """What matters of an evaluation. Where times are estimates, a config that compiles and could not be judged here
    counts as passed, and says so."""
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
    """The largest of each over the kernels, and the least occupancy."""
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
    """A recorded space. Nothing is compiled, launched or timed; everything it says is called replayed."""

    kind: TimeKind = "replayed"

    def __init__(self, recorded: RecordedSpace) -> None:
        self.recorded = recorded
        self.device = RecordedDevice(recorded)
        self.environment = recorded.environment
        self.name = self.device.name
        self.least_us = recorded.best_us
        self.library = recorded.library

    def compile(self, config: Config) -> Found:
        """What the compiler refused when the space was recorded is refused again. Of what was never recorded nothing is
        known, hence nothing is against it."""
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
            footprint=None if took is None else Footprint(
                shared_bytes=took.shared_bytes, registers=took.registers, spill_bytes=took.spill_bytes, num_warps=None,
                occupancy=took.occupancy,
            ),
            stages_s={"recorded": replayed.seconds},
        )  # fmt: skip

    def finals(self, configs: Mapping[str, Config], against: str) -> BenchReport | None:
        return None

    def confirm(self, config: Config) -> Found | None:
        return None
