"""Benches of several problems as one table: a line a case, the framework's columns, ours, and the limit beside them.

A ratio is of the last of `starter` and `best` that a problem has, against the faster of the framework's own, and is
shown with its interval and verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from kernelwright.model import BenchCase, BenchReport, BenchSeries, Implementation, LibraryMode, Status
from kernelwright.report.bench import UNTUNED, slowed_rows, untuned, verdict_cell
from kernelwright.report.evaluation import environment_settings, mode_text, settings_text
from kernelwright.text.table import table
from kernelwright.text.units import microseconds_text, range_text, share_text, times_text

TIMED = ("eager", "compile", "starter", "best")
TUNED = ("eager", "compile", "compile_max_autotune", "starter", "best")
"""Where `torch.compile` ran in its max-autotune mode, too."""
LIMIT = ("limit", "share", "ratio", "95 % interval", "verdict")


def series_text(series: BenchSeries) -> str:
    """The table of all timed cases and that of the held-out ones, apart by the library steps that problems allow, what
    failed, and where it was measured."""
    parts = []
    timed = timed_columns(series.reports)
    for library in sorted({report.library for report in series.reports}, key=get_args(LibraryMode).index):
        alike = [report for report in series.reports if report.library == library]
        mode = f"; {mode_text(library)}" if library != "none" else ""
        for held_out, title in ((False, "timed cases"), (True, "held-out cases")):
            rows = series_rows(alike, held_out, timed)
            if rows:
                header = ("case", *timed, *LIMIT)
                parts.append(f"{title}, device time in µs, cold cache{mode}\n" + table(header, rows, left=("verdict",)))
    if untuned(case for report in series.reports for case in report.cases):
        parts.append(UNTUNED)
    failures = [f"{name}: {reason}" for name, reason in series.failures.items()] + failed_rows(series.reports)
    if failures:
        parts.append("not benched, wrong or failed\n" + "\n".join(f"  {line}" for line in failures))
    remarks = [f"  {r.title} {c.case} {row.name}: {row.below_bound}" for r in series.reports for c in r.cases
               for row in c.implementations if row.below_bound]  # fmt: skip
    if remarks:
        parts.append("faster than the bound\n" + "\n".join(remarks))
    slowed = [f"  {r.title} {c.case} {line}" for r in series.reports for c in r.cases for line in slowed_rows(c)]
    if slowed:
        parts.append("throttled\n" + "\n".join(slowed))
    if series.reports:
        parts.append(settings_text("environment", environment_settings(series.reports[0].environment)))
    return "\n\n".join(parts)


def timed_columns(reports: Sequence[BenchReport]) -> tuple[str, ...]:
    tuned = any(case.row("compile_max_autotune") for report in reports for case in report.cases)
    return TUNED if tuned else TIMED


def series_rows(reports: Sequence[BenchReport], held_out: bool, timed: Sequence[str] = TIMED) -> list[list[str]]:
    """A row for every case, in the order of the reports."""
    return [
        [f"{report.title} {case.case}", *case_cells(case, timed)]
        for report in reports
        for case in report.cases
        if case.held_out == held_out
    ]


def case_cells(case: BenchCase, timed: Sequence[str] = TIMED) -> list[str]:
    """Times of those implementations, then LIMIT."""
    ours = our_row(case)
    times = [time_cell(case.row(name)) for name in timed]
    if ours is None or ours.speedup is None:
        return [*times, microseconds_text(case.bound_us), "-", "-", "-", "-"]
    return [
        *times,
        microseconds_text(case.bound_us),
        share_text(ours.fraction_of_bound),
        times_text(ours.speedup),
        range_text(ours.speedup_ci95),
        verdict_cell(ours),
    ]


def our_row(case: BenchCase) -> Implementation | None:
    """The best kernel's row, else the starter's."""
    return case.row("best") or case.row("starter")


def time_cell(row: Implementation | None) -> str:
    """Microseconds; an estimate says so, and a row without a time says why in one word."""
    if row is None:
        return "-"
    if row.median_us is None:
        return row.status.value
    return microseconds_text(row.median_us) + (" (estimate)" if row.kind == "estimate" else "")


def failed_rows(reports: Sequence[BenchReport]) -> list[str]:
    """A line for every row that ended otherwise than well."""
    return [
        f"{report.title} {case.case} {row.name}: {row.status.value}: {row.reason}"
        for report in reports
        for case in report.cases
        for row in case.implementations
        if row.status not in (Status.PASSED, Status.NOT_VERIFIED)
    ]
