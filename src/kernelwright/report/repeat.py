"""Several reports of the same bench, each from new processes, as one with the spread between them.

Pure arithmetic. A row is copied unchanged from the process whose median is the middle one, so that its interval and
samples are those of one measurement; the other medians are listed beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kernelwright.model import BenchReport, Implementation
from kernelwright.stats import median


def repeated(reports: Sequence[BenchReport]) -> BenchReport:
    """One report out of one per process, in the order and with the environment of the first."""
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
    """The middle one of the same implementation's rows; a row that failed anywhere is a failed row."""
    failed = next((row for row in rows if row.median_us is None), None)
    if failed is not None:
        return failed
    medians = [row.median_us for row in rows if row.median_us is not None]
    middle = sorted(rows, key=lambda row: row.median_us or 0.0)[len(rows) // 2]
    spread = (max(medians) - min(medians)) / median(medians)
    return msgspec.structs.replace(middle, repeats_us=tuple(medians), spread=spread)
