"""The coordinator's side of a worker: start one by argv, ask, and get records back.

It never imports the worker. `Worker` is the protocol that the run loop and the commands use; tests implement it
as a function of its input.
"""

from __future__ import annotations

from typing import Protocol

from kernelwright.model import BenchReport, Candidate, Environment, Evaluation, ProblemInfo


class Worker(Protocol):
    """Thread-safe: several `evaluate` calls may be under way at once; the GPU is leased inside the worker."""

    def environment(self) -> Environment:
        """What this worker runs on."""
        ...

    def load(self, path: str, dtype: str | None = None) -> ProblemInfo:
        """Read the problem at `path`; raises `ProblemError`. Must precede the calls below.

        dtype overrides the dtype of every case that is not small.
        """
        ...

    def evaluate(self, candidate: Candidate, purpose: str) -> Evaluation:
        """purpose "search": small cases, then the timed ones, timed against the incumbent.
        "verify": every case, no timing. "confirm": fresh process, fresh seeds, every case (held-out ones too)."""
        ...

    def bench(self, candidates: dict[str, Candidate], cases: tuple[str, ...] = (), max_autotune: bool = False,
              compile: bool = True) -> BenchReport:
        """Paired timing of the framework's own and the named candidates. cases: names, () for all but small."""
        ...

    def close(self) -> None:
        """End the worker and everything it started."""
        ...
