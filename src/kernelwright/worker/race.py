"""When a race of a candidate against the best so far may end, by the pairs sampled so far. It samples nothing."""

from __future__ import annotations

import math

from kernelwright import stats

SURELY = 0.01
"""Chance that a race ever ends as LOST although the candidate is not slower by more than MARGIN, as long as rounds
err independently of each other. A clock that keeps changing in favour of one of the two raises it; what that costs is
precision alone, since nobody is refused for a lost race."""

MARGIN = 0.01
"""A candidate is let go early only if it is slower by more than this fraction."""

LOST = (
    f"slower than the best so far by over {MARGIN:.0%} "
    f"(t-test that may be looked at after every round, at {SURELY:.0%})"
)
BEHIND = "interval narrow enough, and slower than the best so far"
KNOWN = "interval narrow enough"
MOST = "most samples"


def race_over(ours_us: list[float], theirs_us: list[float], most: int) -> str:
    """Why a race may end, "" while it may not. ours_us, theirs_us: device time of a round, µs, round by round."""
    pairs = len(ours_us)
    over = [math.log(ours / theirs / (1 + MARGIN)) for ours, theirs in zip(ours_us, theirs_us, strict=True)]
    if math.fsum(over) > 0 and stats.t_evidence(over) >= 1 / SURELY:
        return LOST
    if pairs >= stats.MIN_PAIRS and pairs % 3 == 0:
        _, interval = stats.paired_log_ratio_ci(theirs_us, ours_us)  # theirs over ours: under 1 where ours is slower
        if stats.is_known(interval):
            return BEHIND if interval[1] < 1 else KNOWN
    return MOST if pairs >= most else ""
