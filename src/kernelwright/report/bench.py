"""A bench report as text: one table per case, every implementation against the framework's own best and the bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from kernelwright.model import BenchCase, BenchReport, Implementation, Status
from kernelwright.report.evaluation import (
    environment_settings,
    mode_text,
    settings_text,
    shares_text,
    slowdown_text,
    unqualified_text,
)
from kernelwright.stats import median
from kernelwright.text.table import table
from kernelwright.text.units import (
    Unit,
    interval_text,
    number_text,
    range_text,
    share_text,
    time_text,
    times_text,
    unit_for,
)

NO_DEVICE = (
    "no GPU here: nothing was timed; what is marked (estimate) is a formula over work and compiled resources,\n"
    "which orders variants of one kernel and says nothing of two different ones"
)

UNTUNED = (
    "torch.compile ran as it comes; --max-autotune adds its tuned mode, which on an H200 was up to 4.4 times as fast\n"
    "(docs/gallery.md), and takes longer to compile"
)
"""Without this line a reader might take the ratio to default torch.compile for the ratio to the best that PyTorch can
do.
"""


def bench_text(report: BenchReport) -> str:
    """The tables of all cases, then where it was measured."""
    parts = [f"bench of {report.title}"]
    if report.environment.device is None:
        parts[0] += f"\n{NO_DEVICE}"
    if report.unqualified:
        parts[0] += f"\n{unqualified_text(report.unqualified)}"
    if mode := mode_text(report.library):
        parts[0] += f"\n{mode}"
    parts += [case_text(case) for case in report.cases]
    if untuned(report.cases):
        parts.append(UNTUNED)
    parts.append(settings_text("environment", environment_settings(report.environment)))
    return "\n\n".join(parts)


def untuned(cases: Iterable[BenchCase]) -> bool:
    """Whether torch.compile was timed, and never in its max-autotune mode."""
    rows = [row for case in cases for row in case.implementations]
    timed = {row.name for row in rows if row.median_us is not None and row.kind == "measured"}
    return "compile" in timed and "compile_max_autotune" not in timed


def case_text(case: BenchCase) -> str:
    """One case: its bound, its table, and the reason of every row that has no time."""
    held_out = ", held out" if case.held_out else ""
    limit = f"limit: {case.bound_by}" + (f", {case.bound_kind}" if case.bound_kind else "")
    least = f"no kernel can beat {time_text(case.bound_us, None)}"
    if case.bound_kind == "derived":
        least = f"what the reference does takes {time_text(case.bound_us, None)} or more"
    title = f"{case.case}{held_out}: {least} ({limit})"
    unit = unit_for(row.median_us for row in case.implementations)
    header = [
        "implementation",
        f"time ({unit.name})",
        "95 % interval",
        f"warm ({unit.name})",
        f"call ({unit.name})",
        "speedup",
        "95 % interval",
        "verdict",
        "share of bound",
    ]
    rows = [_row(implementation, unit) for implementation in case.implementations]
    if any(row.spread is not None for row in case.implementations):
        header.append("between processes")
        for cells, row in zip(rows, case.implementations, strict=True):
            cells.append(f"{row.spread:.1%} over {len(row.repeats_us)}" if row.spread is not None else "-")
    reasons = [
        f"  {row.name}: {row.status.value}{': ' + row.reason if row.reason else ''}"
        for row in case.implementations
        if row.reason or row.status is not Status.PASSED
    ]
    remarks = [f"  {row.name}: {row.below_bound}" for row in case.implementations if row.below_bound]
    remarks += [f"  {row.name}: library: {shares_text(row.library)}" for row in case.implementations if row.library]
    remarks += [f"  {text}" for text in slowed_rows(case)]
    return "\n".join([title, table(header, rows, left=("verdict",)), *reasons, *remarks])


def slowed_rows(case: BenchCase) -> list[str]:
    """A line for each slowdown, with the rows that were timed under it, and one for each verdict that it cost."""
    rows: dict[str, list[str]] = {}
    for row in case.implementations:
        if row.status is Status.PASSED and (text := slowdown_text(row.clocks)):
            rows.setdefault(text, []).append(row.name)
    lines = [f"{', '.join(names)}: {text}" for text, names in rows.items()]
    return lines + [f"{row.name}: {row.throttled}" for row in case.implementations if row.throttled]


def verdict_cell(row: Implementation) -> str:
    return row.verdict or ("throttled" if row.throttled else "-")


def _row(implementation: Implementation, unit: Unit) -> list[str]:
    estimate = " (estimate)" if implementation.kind == "estimate" and implementation.median_us is not None else ""
    speedup = implementation.speedup
    return [
        implementation.name,
        number_text(implementation.median_us, unit) + estimate,
        interval_text(implementation.ci95_us, unit),
        number_text(implementation.warm_us, unit),
        number_text(implementation.call_us, unit),
        times_text(speedup) + estimate if speedup is not None else "-",
        range_text(implementation.speedup_ci95),
        verdict_cell(implementation),
        share_text(implementation.fraction_of_bound),
    ]


def repeated(reports: Sequence[BenchReport]) -> BenchReport:
    """One report out of one per process, with the spread between them, in the order and with the environment of the
    first."""
    first = reports[0]
    if len(reports) == 1:
        return first
    cases = []
    for index, case in enumerate(first.cases):
        rows = [together([row for report in reports for row in report.cases[index].implementations if row.name == name])
                for name in (row.name for row in case.implementations)]  # fmt: skip
        widest = max((report.cases[index] for report in reports), key=lambda one: one.noise_floor or 0.0)
        cases.append(
            msgspec.structs.replace(
                case,
                implementations=tuple(rows),
                order_seed=None,  # the rows come from several processes
                exchanged_after=None,
                noise_floor=widest.noise_floor,
                noise_floor_source=widest.noise_floor_source,
            )
        )
    return msgspec.structs.replace(first, cases=tuple(cases))


def together(rows: Sequence[Implementation]) -> Implementation:
    """The middle one of the same implementation's rows, unchanged, so that its interval and samples are those of one
    measurement; the other medians are listed beside it. A row that failed anywhere is a failed row."""
    failed = next((row for row in rows if row.median_us is None), None)
    if failed is not None:
        return failed
    medians = [row.median_us for row in rows if row.median_us is not None]
    middle = sorted(rows, key=lambda row: row.median_us or 0.0)[len(rows) // 2]
    spread = (max(medians) - min(medians)) / median(medians)
    return msgspec.structs.replace(middle, repeats_us=tuple(medians), spread=spread)
