"""A race of a candidate against the incumbent (the best so far): order of samples, stopping rule, and gain.

The caller measures the times. A round samples both twice, in a random order. A gain counts only if it shows again, in
the same number of rounds, after both were captured again in the opposite order.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from kernelwright import stats
from kernelwright.worker.bench.order import pair_turns

SURELY = 0.01
"""Probability that a race ends as LOST although the candidate is not slower by more than MARGIN, if the errors of
rounds are independent. A clock that keeps changing in favour of one of the two raises it. This costs precision only:
no candidate is rejected for a lost race."""

MARGIN = 0.01
"""A race ends early as LOST only if the candidate is slower by more than this fraction."""

LOST = (
    f"slower than the best so far by over {MARGIN:.0%} "
    f"(t-test that may be looked at after every round, at {SURELY:.0%})"
)
BEHIND = "interval narrow enough, and slower than the best so far"
KNOWN = "interval narrow enough"
MOST = "most samples"
UNCONFIRMED = "faster than the best so far at first, but not after both were captured again in the opposite order"


@dataclass
class Race:
    """Samples and result of a race. ours_us, theirs_us: device time of candidate and incumbent in µs, one per round.
    stopped: why the race ended. gained: whether the candidate's interval was on the faster side before and after the
    exchange."""

    ours_us: list[float] = field(default_factory=list)
    theirs_us: list[float] = field(default_factory=list)
    stopped: str = ""
    gained: bool = False

    def round(self, samplers: tuple[Callable[[], float], Callable[[], float]], draw: random.Random) -> None:
        found: tuple[list[float], list[float]] = ([], [])
        for turn in pair_turns(draw):
            found[turn].append(samplers[turn]())
        self.ours_us.append(math.fsum(found[0]) / 2)
        self.theirs_us.append(math.fsum(found[1]) / 2)


def race(
    ours: Callable[[], float], theirs: Callable[[], float], exchange: Callable[[], None], draw: random.Random, most: int
) -> Race:
    """Run a race. ours, theirs: sample candidate and incumbent, in µs. exchange: captures both again, in the opposite
    order. most: maximum number of rounds before the exchange."""
    found = Race()
    while not found.stopped:
        found.round((ours, theirs), draw)
        found.stopped = race_over(found.ours_us, found.theirs_us, most)
    rounds = len(found.ours_us)
    if not is_faster(found.ours_us, found.theirs_us):
        return found
    exchange()
    for _ in range(rounds):
        found.round((ours, theirs), draw)
    found.gained = is_faster(found.ours_us[rounds:], found.theirs_us[rounds:])
    if not found.gained:
        found.stopped = UNCONFIRMED
    return found


def is_faster(ours_us: list[float], theirs_us: list[float]) -> bool:
    if len(ours_us) < stats.MIN_PAIRS:
        return False
    return stats.paired_log_ratio_ci(theirs_us, ours_us)[1][0] > 1


def race_over(ours_us: list[float], theirs_us: list[float], most: int) -> str:
    """Why a race ends, "" while it goes on. ours_us, theirs_us: device time in µs, one per round."""
    pairs = len(ours_us)
    over = [math.log(ours / theirs / (1 + MARGIN)) for ours, theirs in zip(ours_us, theirs_us, strict=True)]
    if math.fsum(over) > 0 and stats.t_evidence(over) >= 1 / SURELY:
        return LOST
    if pairs >= stats.MIN_PAIRS and pairs % 3 == 0:
        _, interval = stats.paired_log_ratio_ci(theirs_us, ours_us)  # theirs over ours: under 1 where ours is slower
        if stats.is_known(interval):
            return BEHIND if interval[1] < 1 else KNOWN
    return MOST if pairs >= most else ""
