"""The best kernel of a run beside the starter on another GPU of the same kind: a measurement in the run's folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.folders import read_file, write_file
from kernelwright.model import BenchReport, Record
from kernelwright.report.framework import BEST, interval_end, why_untimed
from kernelwright.report.series import row_named
from kernelwright.report.view import RunView
from kernelwright.stats import geometric_mean
from kernelwright.text.units import times_text

ELSEWHERE = "elsewhere.json"
"""In a run's folder."""

START = "start"
"""The row of the run's first kernel."""


class Repeated(Record, frozen=True, kw_only=True):
    """candidate: the id of the best that was measured, as another one may be best now."""

    candidate: str
    report: BenchReport


def read_repeated(folder: Path) -> Repeated | None:
    """The measurement in a run's folder; None where there is none that can be read."""
    content = read_file(folder, ELSEWHERE)
    try:
        return None if content is None else codec.decode(content, Repeated)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def write_repeated(folder: Path, repeated: Repeated) -> None:
    write_file(folder, ELSEWHERE, codec.encode(repeated))


def repeated_text(view: RunView) -> str | None:
    """The result on the other GPU; None where the best was not measured there."""
    candidate = view.best.proposal.candidate if view.best is not None else None
    found = read_repeated(view.folder) if candidate is not None and view.folder.is_dir() else None
    if found is None or candidate is None or found.candidate != candidate.id:
        return None
    where = f"on another GPU ({found.report.environment.gpu})"
    rows = [(case, row_named(case, BEST)) for case in found.report.cases]
    known = [(case, row) for case, row in rows if row is not None and row.speedup is not None and row.speedup_ci95]
    if not known or len(known) < len(rows):
        return f"{where} it was not timed beside the start: {why_untimed(found.report)}"
    ratio = geometric_mean([row.speedup for _, row in known if row.speedup is not None])
    interval = (interval_end(known, 0), interval_end(known, 1))
    is_faster = interval[0] > 1
    text = f"{where} {times_text(ratio)} as fast as the start (95 %: {interval[0]:.2f} to {interval[1]:.2f})"
    return text if is_faster else f"{text}: the gain does not show there"
