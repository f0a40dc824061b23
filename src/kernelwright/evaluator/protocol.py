"""The `Worker` protocol: the calls that the coordinator makes to a worker or a fleet."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TypeVar

from kernelwright.model import (
    AS_KEPT,
    BenchCandidates,
    BenchReport,
    Call,
    Candidate,
    CompileCandidate,
    DescribeEnvironment,
    DescribeMachine,
    Environment,
    EvaluateCandidate,
    Evaluation,
    Generated,
    GenerateText,
    Incumbent,
    LaneChange,
    Loading,
    LoadProblem,
    Machine,
    ProblemInfo,
    Profile,
    ProfileCandidate,
    ProfileFramework,
    QualificationReport,
    QualifyProblem,
)

T = TypeVar("T")


class Worker(Protocol):
    """Thread-safe: several `evaluate` calls may be under way at once; the GPU is leased inside the worker. Use as a
    context manager, or call `close`."""

    def ask(self, call: Call[T]) -> T:
        """Send a call, and wait for its answer. Raises the error that the worker reports."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def environment(self) -> Environment:
        """Hardware and software that this worker runs on."""
        return self.ask(DescribeEnvironment())

    def machine(self) -> Machine:
        """What works on this worker's machine, found by trying it (see `doctor`)."""
        return self.ask(DescribeMachine())

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        """Read the problem at `path`; raises `ProblemError`. Must precede the calls below."""
        return self.ask(LoadProblem(path=path, loading=loading))

    def qualify(self, every: bool = False) -> QualificationReport:
        """Whether the loaded problem can distinguish a kernel from a trivial answer, tested on its small cases and the
        smallest timed one; every: on all cases that this machine can compute. If it cannot, later results say so."""
        return self.ask(QualifyProblem(every=every))

    def generate(self) -> Generated:
        """The code that torch.compile would run for the loaded problem, at several sizes. Uses no GPU."""
        return self.ask(GenerateText())

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        """Compile a candidate, without running it, for every case that `evaluate` uses for this purpose. The status is
        `not_verified`, with the kernels' resources, or the failure of a kernel that could not run. Uses no GPU."""
        return self.ask(CompileCandidate(candidate=candidate, purpose=purpose))

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        """Verify and time a candidate.

        purpose "search": small cases, then the timed cases in a race with the incumbent. "tune": the same, for another
        config of a known candidate; without the small cases if there is a GPU. "verify": every case, no timing.
        "confirm": fresh process, fresh seeds, every case (also held-out ones), timed alone. incumbent: None before the
        search has one, and for a candidate that is to be timed alone.
        """
        return self.ask(EvaluateCandidate(candidate=candidate, purpose=purpose, incumbent=incumbent))

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
        framework = ("eager", *["compile"] * compile, *["compile_max_autotune"] * max_autotune)
        return self.ask(BenchCandidates(
            candidates=candidates, cases=cases, framework=framework if against is None else (), against=against
        ))  # fmt: skip

    def profile(self, implementation: Candidate | str, case: str, full: bool = False) -> Profile:
        """The kernel launches of one call, with the data of a profiler, or only of the compiler if there is none. A
        profile is taken once and then cached.

        implementation: a candidate, or "eager" or "compile". full: every counter that the tool has. Raises
        `RequestError` for a candidate that does not compile, `MachineError` for "eager" or "compile" without a GPU.
        """
        if isinstance(implementation, str):
            return self.ask(ProfileFramework(name=implementation, case=case, full=full))
        return self.ask(ProfileCandidate(candidate=implementation, case=case, full=full))

    def elsewhere(self) -> Worker | None:
        """A worker on another GPU of the same kind with the same problem loaded, to repeat a measurement; None if there
        is no second GPU."""
        return None

    def watch(self, notify: Callable[[LaneChange], None] | None) -> None:
        """Call `notify` for every change of a lane from now on, beginning with the lanes that are up. Only a fleet has
        lanes. notify: called from any thread; it must neither block nor call the worker. None: stop notifying."""
        return

    def close(self) -> None:
        """End the worker and every process that it started."""
        ...
