"""The calls that a worker answers. Tests implement it as a function of its input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kernelwright.model import (
    BenchReport,
    Candidate,
    Environment,
    Evaluation,
    Generated,
    Incumbent,
    LaneChange,
    LibraryMode,
    Machine,
    ProblemInfo,
    Profile,
    QualificationReport,
    WhichCases,
)


class Worker(Protocol):
    """Thread-safe: several `evaluate` calls may be under way at once; the GPU is leased inside the worker."""

    def environment(self) -> Environment:
        """What this worker runs on."""
        ...

    def machine(self) -> Machine:
        """What is there and what holds, found by trying (see `doctor`)."""
        ...

    def load(
        self,
        path: str,
        dtype: str | None = None,
        timed: tuple[str, ...] = (),
        narrow: bool = False,
        library: LibraryMode | None = None,
        which: WhichCases = "kept",
    ) -> ProblemInfo:
        """Read the problem at `path`; raises `ProblemError`. Must precede the calls below.

        dtype overrides the dtype of every case that is not small. timed: names of the cases to score, () for all.
        narrow: leave out small and held-out cases of wider elements than those of the cases to score, for a config
        that is chosen for these alone. library: in place of the mode that the problem states. which: whether cases are
        derived where the problem states none.
        """
        ...

    def qualify(self, every: bool = False) -> QualificationReport:
        """Whether the loaded problem can distinguish a kernel from a trivial answer, by its small cases and the
        smallest timed one; every: by all that this machine can compute. Where it cannot, results from here on say
        so."""
        ...

    def generate(self) -> Generated:
        """What torch.compile would run for the loaded problem, as text at several sizes. Needs no GPU and uses none."""
        ...

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        """Compiled for every case that `evaluate` looks at for this purpose, and not run: `not_verified` with the
        kernels' resources, or the failure of one that could not run. Needs no GPU and waits for none."""
        ...

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        """purpose "search": small cases, then the timed ones, timed against the incumbent. "tune": the same without the
        small cases where there is a GPU, for another config of a known candidate.
        "verify": every case, no timing. "confirm": fresh process, fresh seeds, every case (held-out ones too), timed
        alone. incumbent: None where there is none yet, and for a candidate that is to be timed alone."""
        ...

    def bench(
        self,
        candidates: dict[str, Candidate],
        cases: tuple[str, ...] = (),
        max_autotune: bool = False,
        compile: bool = True,
        against: str | None = None,
    ) -> BenchReport:
        """Paired timing of the framework's own and the named candidates. cases: names, () for all but small.

        against: a candidate that ratios and verdicts refer to; the framework is then left out.
        """
        ...

    def profile(self, implementation: Candidate | str, case: str, full: bool = False) -> Profile:
        """The launches of one call with what a profiler, or at least the compiler, says of them; kept, and taken once.

        implementation: a candidate, or "eager" or "compile". full: every counter that the tool has. Raises
        `RequestError` for a candidate that does not compile, `MachineError` for the framework's own without a GPU.
        """
        ...

    def elsewhere(self) -> Worker | None:
        """A worker on another GPU of the same kind with the same problem loaded, to repeat what was found; None where
        there is one GPU."""
        ...

    def watch(self, notify: Callable[[LaneChange], None] | None) -> None:
        """From now on, tell this what happens to lanes, beginning with those that are up; None: nobody. A worker that
        is no fleet has none to tell of. notify: called by any thread; it may neither wait nor call the worker."""
        ...

    def close(self) -> None:
        """End the worker and everything it started."""
        ...
