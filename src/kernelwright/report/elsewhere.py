"""The best kernel of a run beside the starter on another GPU of the same kind: a measurement in the run's folder."""

from __future__ import annotations

from kernelwright.report.framework import mean_ratio, side_report, timed_rows, why_untimed
from kernelwright.report.view import RunView
from kernelwright.text.units import times_text

ELSEWHERE = "elsewhere.json"
"""In a run's folder."""

START = "start"
"""The row of the run's first kernel."""


def elsewhere_text(view: RunView) -> str | None:
    """The result on the other GPU; None where the best was not measured there."""
    report = side_report(view, ELSEWHERE)
    if report is None:
        return None
    where, rows = f"on another GPU ({report.environment.gpu})", timed_rows(report.cases)
    if rows is None:
        return f"{where} it was not timed beside the start: {why_untimed(report)}"
    ratio, (low, high) = mean_ratio(rows)
    text = f"{where} {times_text(ratio)} as fast as the start (95 %: {low:.2f} to {high:.2f})"
    return text if low > 1 else f"{text}: the gain does not show there"
