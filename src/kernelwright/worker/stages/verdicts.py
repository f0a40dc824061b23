"""The verdict of a bench (faster, slower or tie), from the paired samples of two rows.

Pure. A row has one time per round, in µs; the first `half` of them were sampled before places were exchanged.
Faster or slower needs the whole interval over all rounds beyond the noise floor, and the same direction in both halves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from kernelwright import stats
from kernelwright.model import Implementation

FLOOR = 0.005
"""Minimum noise floor, larger than the differences between identical kernels (`benchmarks/copies.py`)."""


def middle_log_ratio(baseline_us: Sequence[float], candidate_us: Sequence[float]) -> float:
    """Median log ratio of paired rounds; above 0 if the candidate is faster."""
    pairs = zip(baseline_us, candidate_us, strict=True)
    return stats.median([math.log(baseline / candidate) for baseline, candidate in pairs])


def by_halves(baseline_us: Sequence[float], candidate_us: Sequence[float], half: int) -> tuple[float, float]:
    """Median log ratio before and after the exchange."""
    return (
        middle_log_ratio(baseline_us[:half], candidate_us[:half]),
        middle_log_ratio(baseline_us[half:], candidate_us[half:]),
    )


def noise_floor(original_us: Sequence[float], copy_us: Sequence[float], half: int) -> float:
    """Difference of a kernel from a copy of itself in the worse half, as a fraction; at least FLOOR."""
    return max(FLOOR, *(math.expm1(abs(log_ratio)) for log_ratio in by_halves(original_us, copy_us, half)))


def verdict(baseline_us: Sequence[float], candidate_us: Sequence[float], half: int, floor: float) -> stats.Verdict:
    """Whether the candidate is faster than the baseline. A difference that is missing in one half is a tie."""
    _, interval = stats.paired_log_ratio_ci(baseline_us, candidate_us)
    claim = stats.verdict(interval, floor)
    before, after = by_halves(baseline_us, candidate_us, half)
    holds = {"faster": min(before, after) > 0, "slower": max(before, after) < 0, "tie": True}
    return claim if holds[claim] else "tie"


def is_doubtful(row: Implementation) -> bool:
    """Whether a candidate was faster while the GPU's clock was throttled: then the case is measured once more."""
    return row.verdict == "faster" and row.clocks is not None and bool(row.clocks.slowdowns)


def confirmed_gain(last: Implementation, first: Implementation | None) -> Implementation:
    """A row of the last measurement, its verdict withdrawn if the gain under throttling is not confirmed.

    first: the same row of the first measurement, None if it has none. Under the power cap, which work with much
    arithmetic always reaches, a gain counts if both measurements show it. Under a forced slowdown it never counts.
    """
    if last.clocks is None or not is_doubtful(last):
        return last
    is_seen_twice = first is not None and first.verdict == "faster"
    is_forced = any(row is not None and row.clocks is not None and row.clocks.is_forced for row in (first, last))
    if is_seen_twice and not is_forced:
        return last
    reasons = ", ".join(last.clocks.slowdowns)
    return msgspec.structs.replace(last, verdict=None, throttled=f"throttled: not confirmed ({reasons})")
