"""Measures a candidate beside the baseline of an earlier bench, both on this GPU, and says where it became slower.

The times of the earlier report are not used, because clock, driver or GPU may have changed. Only its baseline's text
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from kernelwright.codec import decode
from kernelwright.errors import RequestError
from kernelwright.jobs.bench import DEFAULTS, BenchSettings
from kernelwright.jobs.loading import load_problem, read_candidate, read_problem, require_qualified
from kernelwright.jobs.worker import Desk
from kernelwright.model import (
    FRAMEWORK,
    BenchCase,
    BenchReport,
    Candidate,
    GateCase,
    GateReport,
    Implementation,
    Status,
)
from kernelwright.report.bench import repeated
from kernelwright.stats import verdict
from kernelwright.textfile import read_text

BASELINE, OURS = "baseline", "candidate"
"""Names of the two rows."""

NO_GPU = "there is no GPU here"


def gate(
    problem: str | Path,
    candidate: str | Path,
    against: str | Path,
    max_slowdown: float,
    settings: BenchSettings = DEFAULTS,
    *,
    desk: Desk,
) -> GateReport:
    """Measure `candidate` and the baseline side by side on every case of the earlier report.

    against: a document of `bench --json`. Its baseline is the row that is named like the candidate's file, or its only
    row of a candidate. max_slowdown: a fraction. Raises `RequestError` where the document has no such row or lacks its
    text. Without a GPU every case is "not measured".
    """
    earlier = read_report(Path(against))
    name = baseline_name(earlier, Path(candidate).stem, against)
    pair = {BASELINE: baseline_text(earlier, name, Path(against)), OURS: read_candidate(candidate)}
    cases = chosen_cases(earlier, settings)
    asked = settings.loading
    loading = msgspec.structs.replace(
        asked, library=asked.library or earlier.library, dtype=asked.dtype or earlier.dtype
    )
    found, reports = read_problem(problem), []
    for _ in range(settings.repeat):
        with load_problem(found, desk, loading, cases) as (worker, info):
            where = worker.environment()
            if where.device is None:
                judged = [GateCase(case=case, outcome="not measured", reason=NO_GPU) for case in cases]
                break
            require_qualified(worker, problem, desk.notify, loading.unqualified)
            reports.append(worker.bench(pair, cases, against=BASELINE))
    else:
        judged = [judged_case(case, max_slowdown) for case in repeated(reports).cases]
    return GateReport(
        problem=info.name,
        dtype=info.dtype,
        candidate=Path(candidate).stem,
        baseline=name,
        recorded_on=earlier.environment.device,
        max_slowdown=max_slowdown,
        environment=where,
        cases=tuple(judged),
    )


def read_report(file: Path) -> BenchReport:
    """A document of `bench --json FILE` of one problem. Raises `RequestError`."""
    try:
        return decode(read_text(file), BenchReport)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise RequestError(
            f"{file} is no report of one problem's bench: {error}",
            "write it with: kernelwright bench PROBLEM CANDIDATE --json FILE",
        ) from error


def baseline_name(report: BenchReport, candidate: str, file: str | Path) -> str:
    """The row that the candidate is compared with."""
    rows = {row.name: None for case in report.cases for row in case.implementations if row.name not in FRAMEWORK}
    if candidate in rows:
        return candidate
    if len(rows) == 1:
        return next(iter(rows))
    raise RequestError(
        f"{file} has no row named {candidate!r}, and not exactly one candidate: {', '.join(rows) or 'none'}",
        "name the candidate's file like the row that it is to be compared with",
    )


def baseline_text(report: BenchReport, name: str, file: Path) -> Candidate:
    if name not in report.candidates:
        raise RequestError(f"{file} does not hold the text of {name!r}", "bench it again")
    return report.candidates[name]


def chosen_cases(report: BenchReport, settings: BenchSettings) -> tuple[str, ...]:
    """The cases to measure, by name: those of the earlier report, or those of them that were asked for."""
    known = {case.case: case.held_out for case in report.cases}
    unknown = [name for name in settings.cases if name not in known]
    if unknown:
        raise RequestError(f"the baseline was not benched on case {unknown[0]!r}", f"its cases: {', '.join(known)}")
    chosen = settings.cases or tuple(
        name for name, is_held_out in known.items() if settings.held_out or not is_held_out
    )
    if not chosen:
        raise RequestError("the baseline's report has none of these cases", f"its cases: {', '.join(known) or 'none'}")
    return chosen


def judged_case(case: BenchCase, max_slowdown: float) -> GateCase:
    """The outcome of one case. The candidate is slower only if the whole interval is beyond the allowed slowdown and
    beyond the difference between two copies of one kernel.
    """
    baseline, ours = row_of(case.implementations, BASELINE), row_of(case.implementations, OURS)
    if ours.status is not Status.PASSED:
        is_judged = ours.status is not Status.NOT_VERIFIED
        why = f"{ours.status.value}: {ours.reason}"
        return GateCase(case=case.case, outcome="failed" if is_judged else "not measured", reason=why)
    if baseline.status is not Status.PASSED:
        why = f"the baseline is {baseline.status.value}: {baseline.reason}"
        return GateCase(case=case.case, outcome="not measured", reason=why)
    ratio, interval = ours.speedup, ours.speedup_ci95
    if ratio is None or interval is None or case.noise_floor is None:
        why = f"there is no verdict: {case.noise_floor_source or 'the ratio has no interval'}"
        return GateCase(case=case.case, outcome="not measured", reason=why)
    is_slower = verdict(interval, max(max_slowdown, case.noise_floor)) == "slower"
    return GateCase(
        case=case.case,
        outcome="slower" if is_slower else "within",
        baseline_us=baseline.median_us,
        candidate_us=ours.median_us,
        slowdown=1 / ratio,
        slowdown_ci95=(1 / interval[1], 1 / interval[0]),
    )


def row_of(rows: Sequence[Implementation], name: str) -> Implementation:
    return next(row for row in rows if row.name == name)
