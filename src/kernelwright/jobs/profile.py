"""Profiles a candidate: its time, its distance from the bound, and one bottleneck with the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import MachineError
from kernelwright.jobs.loading import load_problem, read_problem
from kernelwright.jobs.worker import Desk
from kernelwright.model import (
    AS_KEPT,
    BenchCase,
    BenchReport,
    Candidate,
    Environment,
    Implementation,
    Loading,
    ProblemInfo,
    Record,
)
from kernelwright.report.profiled import Profiled, profiled

OWN = "candidate"
"""The candidate's row in the bench that times it beside the framework's own."""


class ProfileReport(Record, frozen=True, kw_only=True):
    """The profiles of a candidate, case by case, and of the framework's own where that was asked for.

    failure: how the candidate failed, on the case after the last one that was profiled; None where it did not.
    """

    problem: ProblemInfo
    environment: Environment
    profiles: tuple[Profiled, ...]
    failure: str | None


@dataclass(frozen=True)
class ProfileSettings:
    """What is profiled. cases: names, () for the timed ones. framework: eager and torch.compile too, which needs a GPU.
    full: every counter that the profiler has."""

    cases: tuple[str, ...] = ()
    framework: bool = False
    full: bool = False
    loading: Loading = AS_KEPT


DEFAULTS = ProfileSettings()


def profile(
    problem: str | Path,
    candidate: Candidate,
    settings: ProfileSettings = DEFAULTS,
    *,
    desk: Desk,
    show: Callable[[Profiled], None] = lambda one: None,
    name: str = OWN,
) -> ProfileReport:
    """Time a candidate, profile one call on each case, and diagnose what limits it.

    name: the candidate's, in the report. show: called with each profile as soon as it is there. Raises `ProblemError`
    for the problem, `RequestError` for a case that it does not have, `MachineError` for the framework without a GPU.
    """
    found = read_problem(problem)
    rows: list[Profiled] = []
    failure = None
    with load_problem(found, desk, settings.loading, settings.cases) as (worker, info):
        environment = worker.environment()
        if settings.framework and environment.device is None:
            raise MachineError("--framework needs a GPU, and there is none here", "profile the candidate alone")
        chosen = settings.cases or tuple(one.case.name for one in info.cases if one.case.timed)
        by_name = {one.case.name: one for one in info.cases}
        report = worker.bench({OWN: candidate}, chosen, against=None if settings.framework else OWN)
        for case, row in candidate_first(report):
            own = row.name == OWN
            shown_name = name if own else row.name
            timing = row.timing
            if timing is None:
                text = f"{shown_name} failed on {case.case}: {row.reason}"
                desk.notify(text)
                if own:
                    failure = text
                    break
                continue
            seen = worker.profile(candidate if own else row.name, case.case, settings.full)
            rows.append(profiled(shown_name, by_name[case.case], timing, seen, environment, row.library))
            show(rows[-1])
    return ProfileReport(problem=info, environment=environment, profiles=tuple(rows), failure=failure)


def candidate_first(report: BenchReport) -> list[tuple[BenchCase, Implementation]]:
    """Every row with its case; within a case the candidate comes first."""
    return [
        (case, row) for case in report.cases for row in sorted(case.implementations, key=lambda row: row.name != OWN)
    ]
