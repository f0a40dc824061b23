"""Samples of the prepared rows of one case, and what they show: times, ratios, verdicts and the noise floor."""

from __future__ import annotations

import math
import random
import secrets
from dataclasses import dataclass, replace

from kernelwright import stats
from kernelwright.model import FRAMEWORK, CaseInfo, Clocks, Implementation, Status, clocks_over
from kernelwright.worker.clock.messages import Call, Warm
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.stages.measure import clocks_now
from kernelwright.worker.stages.physical import below_bound
from kernelwright.worker.stages.rows import Row, sample_in_halves
from kernelwright.worker.stages.verdicts import FLOOR, by_halves, confirmed_gain, is_doubtful, noise_floor, verdict

COPY = "/copy"
"""Row name of the copy of the fastest candidate. Other rows are named after file stems, which contain no slash."""


@dataclass(frozen=True)
class Floor:
    """The noise floor of one case. fraction: None if no copy was sampled; then the case has no verdict."""

    fraction: float | None
    source: str


@dataclass(frozen=True)
class Sampled:
    """The samples of one case. kept: rows that were sampled to the end. finished: those that are shown, without the
    copy. failed: those that were not. half: rounds before the exchange. seed: of the order."""

    kept: list[Row]
    finished: list[Implementation]
    failed: list[Implementation]
    half: int
    seed: int
    floor: Floor


def sample_case(
    processes: Processes, info: CaseInfo, rows: list[Row], copied: Row | Implementation | None, against: str | None
) -> Sampled:
    """`sample_once`, and once more if a candidate was faster while the GPU's clock was throttled: then with the
    captures of the second half first."""
    first = sample_once(processes, info, rows, copied, against)
    if not any(is_doubtful(row) for row in first.finished):
        return first
    anew = [replace(row, rounds_us=[]) for row in reversed(first.kept)]
    copy = next((row for row in anew if row.name == COPY), copied)
    last, before = sample_once(processes, info, anew, copy, against), {row.name: row for row in first.finished}
    finished = [confirmed_gain(row, before.get(row.name)) for row in last.finished]
    return replace(last, finished=finished, failed=[*first.failed, *last.failed])


def sample_once(
    processes: Processes, info: CaseInfo, rows: list[Row], copied: Row | Implementation | None, against: str | None
) -> Sampled:
    """Sample prepared rows in turn. copied: the row of the copy, see `copy_of_fastest`."""
    seed = secrets.randbits(32)
    readings: list[Clocks | None] = []
    half, kept, lost = sample_in_halves(
        rows, random.Random(seed), lambda among: reference_row(among, against),
        lambda: readings.append(clocks_now(processes, copied.original if isinstance(copied, Row) else None)),
    )  # fmt: skip
    clocks, floor = clocks_over(readings), floor_of(kept, copied, lost, half)
    shown = [row for row in kept if row.name != COPY]
    reference = reference_row(shown, against)
    finished = [row_result(info, row, reference, clocks, half, floor) for row in shown]
    return Sampled(kept, finished, [row for row in lost if row.name != COPY], half, seed, floor)


def floor_of(kept: list[Row], copied: Row | Implementation | None, lost: list[Implementation], half: int) -> Floor:
    """The noise floor from the samples of the copy. kept, lost: the rows that were sampled to the end, and the rows
    that failed. half: rounds before the exchange."""
    if copied is None:
        return Floor(None, "no candidate")
    rows = {row.name: row for row in kept}
    original = rows.get(copied.original) if isinstance(copied, Row) else None
    if COPY not in rows or original is None:
        why = [one.reason for one in (copied, *lost) if isinstance(one, Implementation)]
        return Floor(None, f"the copy or its original was not sampled to the end: {why[0] if why else 'no reason'}")
    copy_us = rows[COPY].rounds_us
    before, after = (math.exp(ratio) for ratio in by_halves(original.rounds_us, copy_us, half))
    source = f"{original.name!r} over a copy of it: {before:.4f}, {after:.4f} with places exchanged; at least {FLOOR}"
    return Floor(noise_floor(original.rounds_us, copy_us, half), source)


def reference_row(rows: list[Row], against: str | None) -> Row | None:
    """The row that ratios refer to: the named one, or the fastest of the framework's own; None without such a row."""
    own = [row for row in rows if (row.name in FRAMEWORK if against is None else row.name == against)]
    return min(own, key=lambda row: stats.median(row.rounds_us), default=None)


def row_result(
    info: CaseInfo, row: Row, reference: Row | None, clocks: Clocks | None, half: int, floor: Floor
) -> Implementation:
    """A sampled row as an implementation, with its ratio to the reference. half: rounds before the exchange."""
    middle = stats.median(row.rounds_us)
    call_us, issue_us = row.ask(Call(key=row.name))
    speedup, interval, word = None, None, None
    if reference is not None:
        speedup, interval = stats.paired_log_ratio_ci(reference.rounds_us, row.rounds_us)
        if row.name not in FRAMEWORK and row is not reference and floor.fraction is not None:
            word = verdict(reference.rounds_us, row.rounds_us, half, floor.fraction)
    return Implementation(
        name=row.name, status=Status.PASSED, median_us=middle, ci95_us=stats.median_ci(row.rounds_us),
        call_us=call_us, issue_us=issue_us, warm_us=row.ask(Warm(key=row.name)), speedup=speedup,
        speedup_ci95=interval, verdict=word, fraction_of_bound=info.bound.bound_us / middle,
        below_bound=below_bound(info.bound, middle), samples_us=tuple(row.rounds_us), method=row.method,
        clocks=clocks,
    )  # fmt: skip
