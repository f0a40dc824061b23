"""Checks a problem: whether trivial answers would pass, and the bound of each case. No candidate takes part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright.codec import plain
from kernelwright.jobs.loading import DERIVED, load_problem, read_problem
from kernelwright.jobs.worker import Desk
from kernelwright.model import Environment, Implementation, Loading, ProblemInfo, QualificationReport, Record
from kernelwright.report.bounds import bounds_document, eager_rows
from kernelwright.report.derived import derived_document


class ProblemCheck(Record, frozen=True, kw_only=True):
    """A problem with its bounds, and whether it distinguishes a kernel from a trivial answer.

    eager: the measured row of eager PyTorch by case; empty without a GPU.
    """

    problem: ProblemInfo
    qualification: QualificationReport
    eager: dict[str, Implementation]
    environment: Environment

    def document(self) -> dict[str, Any]:
        """What `check --json` prints."""
        return {
            **plain(self.qualification),
            "bounds": bounds_document(self.problem.cases, self.eager),
            "layouts": self.problem.layouts,
            "precision": self.problem.precision,
            "library": self.problem.library,
            "dtype": self.problem.dtype,
            "stated": self.problem.stated,
            "derived": derived_document(self.problem),
            "environment": self.environment,
        }


def check(problem: str | Path, loading: Loading = DERIVED, *, desk: Desk) -> ProblemCheck:
    """Try trivial answers on every case that this machine can compute; on a GPU, time eager PyTorch too.

    Raises `ProblemError` for the problem.
    """
    found = read_problem(problem)
    with load_problem(found, desk, loading) as (worker, info):
        environment = worker.environment()
        report = worker.qualify(every=True)
        eager = eager_rows(worker.bench({}, compile=False)) if environment.device is not None else {}
    return ProblemCheck(problem=info, qualification=report, eager=eager, environment=environment)
