"""Judges whether candidates compute what a problem asks for. Nothing is timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.codec import plain
from kernelwright.errors import WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.loading import DERIVED, load_problem, load_qualified, read_problem
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.model import Candidate, Environment, Evaluation, Loading, ProblemInfo, Record, Status


class Verification(Record, frozen=True, kw_only=True):
    """How a candidate was judged on every case of a problem, and where."""

    problem: ProblemInfo
    candidate: Candidate
    evaluation: Evaluation
    environment: Environment

    def document(self, file: str) -> dict[str, Any]:
        """What `verify --json` prints of the candidate. file: where it was read from."""
        head = {"problem": self.problem.name, "dtype": self.problem.dtype, "file": file, "candidate": self.candidate.id}
        return {**head, "config": self.candidate.config, **plain(self.evaluation), "environment": self.environment}


OnVerified = Callable[[int, Verification], None]
"""Takes each verification as soon as it is there, with its position among the candidates."""


def verify(problem: str | Path, candidate: Candidate, loading: Loading = DERIVED, *, desk: Desk) -> Verification:
    """Judge a candidate on every case, held-out ones too, and time nothing.

    A candidate that fails is an evaluation with its status; raises `ProblemError` for the problem, `MachineError` where
    torch or Triton is missing.
    """
    (verification,) = verify_all(problem, [candidate], loading, desk=desk)
    return verification


def verify_all(
    problem: str | Path,
    candidates: Sequence[Candidate],
    loading: Loading = DERIVED,
    *,
    desk: Desk,
    on_verified: OnVerified = lambda position, verification: None,
) -> tuple[Verification, ...]:
    """Judge candidates one after the other with one worker, as `verify` does; the results are in their order.

    A worker that ends during an evaluation is started again, and the candidate is judged once more; one that ends the
    second worker too is `crashed`, and the next candidate gets a new worker.
    """
    found = read_problem(problem)
    verifications = []
    with ExitStack() as stack:
        worker, info = stack.enter_context(load_qualified(found, problem, desk, loading))
        environment = worker.environment()

        def loaded_again() -> AbstractContextManager[tuple[Worker, ProblemInfo]]:
            return load_problem(found, desk, loading)

        judge = Restarting(worker, stack, loaded_again, desk.notify)
        for position, candidate in enumerate(candidates):
            verification = Verification(
                problem=info, candidate=candidate, evaluation=judge.evaluate(candidate), environment=environment
            )
            on_verified(position, verification)
            verifications.append(verification)
    return tuple(verifications)


@dataclass
class Restarting:
    """A worker that is started again after it ended. stack: has the worker's context. load: starts a worker with the
    problem loaded."""

    worker: Worker | None
    stack: ExitStack
    load: Callable[[], AbstractContextManager[tuple[Worker, ProblemInfo]]]
    notify: Notify

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """The evaluation by this worker, or by a second one; `crashed` if that ends too."""
        worker = self._started()
        try:
            return worker.evaluate(candidate, "verify")
        except WorkerError as first:
            self.notify(f"{first}: it is started again")
            self.worker = None
        worker = self._started()
        try:
            return worker.evaluate(candidate, "verify")
        except WorkerError as error:
            self.worker = None
            return Evaluation(status=Status.CRASHED, reason=f"two workers ended while they judged it: {error}")

    def _started(self) -> Worker:
        if self.worker is None:
            self.stack.close()
            self.worker, _ = self.stack.enter_context(self.load())
        return self.worker
