"""The best kernel of a run beside PyTorch, and beside the starter on another GPU of the same kind: measurements in the
run's folder, and the ratios computed from them.

A measurement is of one candidate; it is ignored where another one is the best now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.folders import read_file, write_file
from kernelwright.model import FRAMEWORK, BenchCase, BenchReport, Implementation, Record
from kernelwright.report.series import case_cells
from kernelwright.report.view import RunView
from kernelwright.stats import geometric_mean
from kernelwright.text.table import Grid
from kernelwright.text.units import range_text, times_text

BENCH, ELSEWHERE = "bench.json", "elsewhere.json"
"""In a run's folder."""

BEST, START = "best", "start"
"""The rows of the confirmed kernel and of the run's first one in a measurement."""

NAMES = {"eager": "eager PyTorch", "compile": "torch.compile", "compile_max_autotune": "torch.compile (max-autotune)"}


class SideMeasurement(Record, frozen=True, kw_only=True):
    """A measurement of a run's best kernel beside others, in a file of the run's folder. candidate: its id, as another
    one may be best now."""

    candidate: str
    report: BenchReport


@dataclass(frozen=True)
class Against:
    """The confirmed kernel beside the fastest of PyTorch's implementations, as geometric means over the timed cases."""

    framework: str
    framework_us: float
    ratio: float
    ci95: tuple[float, float]
    is_faster: bool
    """By the verdict of every timed case."""

    def passes(self, times: float) -> bool:
        """Whether it is surely more than `times` as fast."""
        return self.is_faster and self.ci95[0] > times

    @property
    def is_slower(self) -> bool:
        """Whether the whole interval says so."""
        return self.ci95[1] < 1

    @property
    def name(self) -> str:
        """Of the framework's fastest rows, for people."""
        return " and ".join(NAMES[one] for one in self.framework.split(" and "))

    @property
    def interval_text(self) -> str:
        return f"95 %: {range_text(self.ci95)}"

    @property
    def text(self) -> str:
        """ "1.45x as fast as torch.compile (95 %: 1.44 to 1.46)"."""
        return f"{times_text(self.ratio)} as fast as {self.name} ({self.interval_text})"


def read_side(folder: Path, file: str = BENCH) -> SideMeasurement | None:
    """The measurement in a run's folder; None where there is none that can be read."""
    content = read_file(folder, file)
    try:
        return None if content is None else codec.decode(content, SideMeasurement)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def write_side(folder: Path, measurement: SideMeasurement, file: str = BENCH) -> None:
    write_file(folder, file, codec.encode(measurement))


def side_report(view: RunView, file: str = BENCH) -> BenchReport | None:
    """The measurement of the run's best kernel; None where that was not measured."""
    candidate = view.best.proposal.candidate if view.best is not None else None
    measured = read_side(view.folder, file) if candidate is not None and view.folder.is_dir() else None
    return measured.report if measured is not None and candidate and measured.candidate == candidate.id else None


def against_framework(view: RunView) -> Against | None:
    """The run's best kernel beside the framework's fastest; None where that was not measured."""
    report = side_report(view)
    return against_of(report) if report is not None else None


def against_of(report: BenchReport) -> Against | None:
    """None unless the best was timed beside the framework's own on every timed case."""
    cases = [case for case in report.cases if not case.held_out]
    rows = timed_rows(cases)
    if rows is None:
        return None
    fastest = [fastest_of(case) for case in cases]
    ratio, ci95 = mean_ratio(rows)
    return Against(
        framework=" and ".join(dict.fromkeys(row.name for row in fastest)),
        framework_us=geometric_mean([row.median_us for row in fastest if row.median_us is not None]),
        ratio=ratio,
        ci95=ci95,
        is_faster=all(row.verdict == "faster" for row in rows),
    )


COLUMNS = {"ours": BEST, "eager": "eager", "compile": "compile", "max-autotune": "compile_max_autotune"}
"""Heading and row of each time, ours first: a phone shows the first columns."""


def times_grid(report: BenchReport) -> Grid:
    """The kernel beside each of PyTorch's implementations, a row per case, in µs."""
    header = ("case", *COLUMNS, "ratio", "verdict", "of the bound", "bound", "95 % interval")
    rows = []
    for case in report.cases:
        *times, bound, share, ratio, interval, verdict = case_cells(case, tuple(COLUMNS.values()))
        rows.append((case.case, *times, ratio, verdict, share, bound, interval))
    return Grid(header, tuple(rows), frozenset({"verdict"})).filled()


def timed_rows(cases: Sequence[BenchCase]) -> list[Implementation] | None:
    """The row of the best in each case; None unless it was timed beside the others in all of them."""
    rows = [case.row(BEST) for case in cases]
    timed = [row for row in rows if row is not None and row.speedup is not None and row.speedup_ci95]
    return timed if timed and len(timed) == len(rows) else None


def mean_ratio(rows: Sequence[Implementation]) -> tuple[float, tuple[float, float]]:
    """The geometric mean of the ratios of timed rows, and its interval: from the means of the ends, which is wider than
    for independent cases."""
    ends = [row.speedup_ci95 for row in rows if row.speedup_ci95 is not None]
    low, high = (geometric_mean([one[end] for one in ends]) for end in (0, 1))
    return geometric_mean([row.speedup for row in rows if row.speedup is not None]), (low, high)


def why_untimed(report: BenchReport) -> str:
    """The reasons of all rows that have no time on a timed case; "no time" where none has a reason."""
    return "; ".join(dict.fromkeys(row.reason for row in untimed(report) if row.reason)) or "no time"


def untimed(report: BenchReport) -> list[Implementation]:
    rows = [row for case in report.cases if not case.held_out for row in case.implementations]
    return [row for row in rows if row.median_us is None]


def missing_texts(report: BenchReport) -> list[str]:
    """Which of PyTorch's implementations have no time, so that the ratio is to another one, and why."""
    rows = {row.name: row.reason for row in untimed(report) if row.name in FRAMEWORK}
    return [f"{NAMES[name]} has no time beside it: {reason}" for name, reason in rows.items()]


def fastest_of(case: BenchCase) -> Implementation:
    """The framework's fastest row; a ratio was taken to it, so there is one."""
    rows = [one for one in case.implementations if one.name in FRAMEWORK and one.median_us is not None]
    return min(rows, key=lambda row: row.median_us or 0.0)


def elsewhere_text(view: RunView) -> str | None:
    """The result on the other GPU; None where the best was not measured there."""
    report = side_report(view, ELSEWHERE)
    if report is None:
        return None
    where, rows = f"on another GPU ({report.environment.gpu})", timed_rows(report.cases)
    if rows is None:
        return f"{where} it was not timed beside the start: {why_untimed(report)}"
    ratio, ends = mean_ratio(rows)
    text = f"{where} {times_text(ratio)} as fast as the start (95 %: {range_text(ends)})"
    return text if ends[0] > 1 else f"{text}: the gain does not show there"
