"""Judges whether a candidate computes what a problem asks for. Nothing is timed."""

from __future__ import annotations

from pathlib import Path

from kernelwright.jobs.loading import load_qualified, read_problem
from kernelwright.jobs.worker import Notify, StartWorker
from kernelwright.model import Candidate, Environment, Evaluation, ProblemInfo, Record


class Verification(Record, frozen=True, kw_only=True):
    """How a candidate was judged on every case of a problem, and where."""

    problem: ProblemInfo
    candidate: Candidate
    evaluation: Evaluation
    environment: Environment


def verify(
    problem: str | Path,
    candidate: Candidate,
    *,
    start_worker: StartWorker,
    notify: Notify,
    target: str | None = None,
    dtype: str | None = None,
    unqualified: bool = False,
) -> Verification:
    """Judge a candidate on every case, held-out ones too, and time nothing.

    problem: a file, a folder with `problem.py`, or a name in `./gallery`. target: compile target, only without a GPU.
    dtype: of the full-size cases (torch's name), None for their own. unqualified: go on even if trivial answers solve
    the problem. A candidate that fails is an evaluation with its status; raises `ProblemError` for the problem,
    `MachineError` where torch or Triton is missing.
    """
    found = read_problem(problem)
    with load_qualified(
        found, problem, start_worker=start_worker, notify=notify, target=target, dtype=dtype, unqualified=unqualified
    ) as (worker, info):
        environment = worker.environment()
        evaluation = worker.evaluate(candidate, "verify")
    return Verification(problem=info, candidate=candidate, evaluation=evaluation, environment=environment)
