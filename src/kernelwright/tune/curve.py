"""Statistics of a tuning: the learning curve by generation, and failures by status.

A config that was refused before a launch counts as a failure of its generation, like one that failed on the device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kernelwright import stats
from kernelwright.model import Record
from kernelwright.tune.records import Tried

EXAMPLES = 3
"""Number of reasons shown for each kind of failure."""


class Generation(Record, frozen=True, kw_only=True):
    """One generation. tried: number of configs; failures: number of configs without a time. median_us and best_us: of
    this generation's times; best_so_far_us: of all times up to this generation. None if nothing passed."""

    generation: int
    tried: int
    failures: int
    median_us: float | None
    best_us: float | None
    best_so_far_us: float | None


class Failures(Record, frozen=True, kw_only=True):
    """All failures of one status. launched: number of failed configs that were launched. examples: name and reason."""

    status: str
    count: int
    launched: int
    examples: tuple[tuple[str, str], ...]


def learning_curve(tried: Sequence[Tried]) -> list[Generation]:
    rows: list[Generation] = []
    best_so_far_us: float | None = None
    for number in sorted({one.generation for one in tried}):
        here = [one for one in tried if one.generation == number]
        times_us = [one.score_us for one in here if one.score_us is not None]
        best_us = min(times_us, default=None)
        if best_us is not None:
            best_so_far_us = best_us if best_so_far_us is None else min(best_us, best_so_far_us)
        rows.append(
            Generation(
                generation=number,
                tried=len(here),
                failures=len(here) - len(times_us),
                median_us=stats.median(times_us) if times_us else None,
                best_us=best_us,
                best_so_far_us=best_so_far_us,
            )
        )
    return rows


def failures(tried: Sequence[Tried]) -> list[Failures]:
    """Failures by status, the most frequent first, with examples of different reasons."""
    failed = [one for one in tried if one.score_us is None]
    counts = Counter(one.found.status.value for one in failed)
    rows = []
    for status, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        of_status = [one for one in failed if one.found.status.value == status]
        reasons: dict[str, str] = {}
        for one in of_status:
            reasons.setdefault(" ".join(one.found.reason.split()), one.name)
        examples = tuple((name, reason) for reason, name in list(reasons.items())[:EXAMPLES])
        rows.append(
            Failures(status=status, count=count, launched=sum(one.launched for one in of_status), examples=examples)
        )
    return rows
