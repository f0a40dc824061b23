"""Times PyTorch's implementations, a problem's starter and best kernel, and any candidates side by side on every case.

The names of rows are part of the report's format: `eager`, `compile`, `compile_max_autotune`, `starter`, `best`, else a
candidate's file name without its suffix. A run's `best_kernel.py` is `best` where the problem has no best kernel.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kernelwright.errors import RequestError
from kernelwright.jobs.loading import DERIVED, load_qualified, read_candidate, read_problem
from kernelwright.jobs.worker import Desk
from kernelwright.model import FRAMEWORK, BenchReport, BenchSeries, Candidate, Loading, ProblemInfo, Status
from kernelwright.problems import ProblemPath
from kernelwright.report.bench import repeated


@dataclass(frozen=True)
class BenchSettings:
    """What is measured, and how.

    cases: names of the cases to measure; () for all but the small ones. held_out: where `cases` is empty, measure the
    held-out cases too. compile, max_autotune: measure `torch.compile`, and its max-autotune mode (slow). repeat: number
    of measurements, each in new processes.
    """

    cases: tuple[str, ...] = ()
    held_out: bool = True
    compile: bool = True
    max_autotune: bool = False
    repeat: int = 1
    loading: Loading = DERIVED

    def chosen_cases(self, info: ProblemInfo) -> tuple[str, ...]:
        """Names of the cases to measure; () for all but the small ones."""
        if self.cases or self.held_out:
            return self.cases
        return tuple(one.case.name for one in info.cases if one.case.timed)


DID_NOT_FAIL = (Status.PASSED, Status.NOT_VERIFIED)
"""Statuses of a candidate that did not fail."""

DEFAULTS: BenchSettings = BenchSettings()


def bench(
    problem: str | Path, candidates: Sequence[str | Path] = (), settings: BenchSettings = DEFAULTS, *, desk: Desk
) -> BenchReport:
    """Measure one problem, in as many workers as there are repeats.

    candidates: Python files. A folder's `starter.py` and `best.py` take part too. A candidate that is wrong has a row
    with its status and no time. Without a GPU nothing is timed, and times are estimates. Raises `ProblemError` for the
    problem, `RequestError` for a candidate's file or a case that the problem does not have.
    """
    found = read_problem(problem)
    named = named_candidates(found, candidates)
    reports = []
    for _ in range(settings.repeat):
        with load_qualified(found, problem, desk, settings.loading, settings.cases) as (worker, info):
            reports.append(worker.bench(named, settings.chosen_cases(info), settings.max_autotune, settings.compile))
    return msgspec.structs.replace(
        repeated(reports), command=command_line(problem, candidates, settings, desk.target), candidates=named
    )


def named_candidates(problem: ProblemPath, files: Sequence[str | Path]) -> dict[str, Candidate]:
    """Candidates by the names that the report gives them, the problem's own first."""
    own = {"starter": problem.starter, "best": problem.best}
    places = {name: place for name, place in own.items() if place is not None}
    for file in files:
        stem = Path(file).stem
        name = "best" if stem == "best_kernel" and problem.best is None else stem
        if name in FRAMEWORK:
            raise RequestError(
                f"candidate {file} would be called {name!r}, which is the framework's own row", "rename it"
            )
        known = places.setdefault(name, Path(file))
        if known.resolve() != Path(file).resolve():
            raise RequestError(f"candidates {known} and {file} would both be called {name!r}", "rename one of them")
    return {name: read_candidate(place) for name, place in places.items()}


def failed_candidates(document: BenchReport | BenchSeries) -> set[str]:
    """Names of the user's candidates that failed on some case, and of problems that could not be benched."""
    if isinstance(document, BenchSeries):
        return {name for report in document.reports for name in failed_candidates(report)} | set(document.failures)
    return {
        row.name
        for case in document.cases
        for row in case.implementations
        if row.name not in FRAMEWORK and row.status not in DID_NOT_FAIL
    }


def command_line(
    problem: str | Path, candidates: Sequence[str | Path], settings: BenchSettings, target: str | None = None
) -> str:
    """The shell command that repeats the measurement. target: compile target, None for the machine's own."""
    words = ["kernelwright", "bench", str(problem), *map(str, candidates)]
    for name in settings.cases:
        words += ["--case", name]
    loading = settings.loading
    for option, value in (("--dtype", loading.dtype), ("--library", loading.library), ("--target", target)):
        if value:
            words += [option, value]
    if loading.which == "stated":
        words += ["--cases", "stated"]
    if settings.repeat > 1:
        words += ["--repeat", str(settings.repeat)]
    flags = {
        "--max-autotune": settings.max_autotune,
        "--no-compile": not settings.compile,
        "--no-held-out": not settings.held_out,
        "--unqualified": loading.unqualified,
    }
    return shlex.join([*words, *(flag for flag, is_set in flags.items() if is_set)])
