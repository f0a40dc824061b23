"""The `Worker` protocol: the calls that the coordinator makes to a worker or a fleet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kernelwright.model import (
    AS_KEPT,
    BenchReport,
    Candidate,
    Environment,
    Evaluation,
    Generated,
    Incumbent,
    LaneChange,
    Loading,
    Machine,
    ProblemInfo,
    Profile,
    QualificationReport,
)


class Worker(Protocol):
    """Thread-safe: several `evaluate` calls may be under way at once; the GPU is leased inside the worker."""

    def environment(self) -> Environment:
        """Hardware and software that this worker runs on."""
        ...

    def machine(self) -> Machine:
        """What works on this worker's machine, found by trying it (see `doctor`)."""
        ...

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        """Read the problem at `path`; raises `ProblemError`. Must precede the calls below."""
        ...

    def qualify(self, every: bool = False) -> QualificationReport:
        """Whether the loaded problem can distinguish a kernel from a trivial answer, tested on its small cases and the
        smallest timed one; every: on all cases that this machine can compute. If it cannot, later results say so."""
        ...

    def generate(self) -> Generated:
        """The code that torch.compile would run for the loaded problem, at several sizes. Uses no GPU."""
        ...

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        """Compile a candidate, without running it, for every case that `evaluate` uses for this purpose. The status is
        `not_verified`, with the kernels' resources, or the failure of a kernel that could not run. Uses no GPU."""
        ...

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        """Verify and time a candidate.

        purpose "search": small cases, then the timed cases in a race with the incumbent. "tune": the same, for another
        config of a known candidate; without the small cases if there is a GPU. "verify": every case, no timing.
        "confirm": fresh process, fresh seeds, every case (also held-out ones), timed alone. incumbent: None before the
        search has one, and for a candidate that is to be timed alone.
        """
        ...

    def bench(
        self,
        candidates: dict[str, Candidate],
        cases: tuple[str, ...] = (),
        max_autotune: bool = False,
        compile: bool = True,
        against: str | None = None,
    ) -> BenchReport:
        """Paired timing of the framework's implementations and the named candidates.

        cases: names, () for all but small ones. against: name of the candidate that ratios and verdicts refer to; the
        framework is then not timed.
        """
        ...

    def profile(self, implementation: Candidate | str, case: str, full: bool = False) -> Profile:
        """The kernel launches of one call, with the data of a profiler, or only of the compiler if there is none. A
        profile is taken once and then cached.

        implementation: a candidate, or "eager" or "compile". full: every counter that the tool has. Raises
        `RequestError` for a candidate that does not compile, `MachineError` for "eager" or "compile" without a GPU.
        """
        ...

    def elsewhere(self) -> Worker | None:
        """A worker on another GPU of the same kind with the same problem loaded, to repeat a measurement; None if there
        is no second GPU."""
        ...

    def watch(self, notify: Callable[[LaneChange], None] | None) -> None:
        """Call `notify` for every change of a lane from now on, beginning with the lanes that are up. Only a fleet has
        lanes. notify: called from any thread; it must neither block nor call the worker. None: stop notifying."""
        ...

    def close(self) -> None:
        """End the worker and every process that it started."""
        ...
