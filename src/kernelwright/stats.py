"""Medians, intervals and the verdict between two implementations. Pure arithmetic on floats.

It takes no timings and reads no clock; the coordinator and the worker both import it. A ratio is
baseline over candidate, so above 1 means that the candidate is faster, and an interval is always (lower, upper).
"""

from __future__ import annotations

import functools
import math
import random
import sys
from collections.abc import Sequence
from typing import Literal

MIN_PAIRS = 6
"""Fewest pairs with an interval for a median at 95 %: with n pairs the widest one, (min, max), misses the median
with probability 2 * 0.5**n (sign test; Conover, Practical Nonparametric Statistics)."""

PRECISE = 0.005
"""A time or a ratio is known when its 95 % interval is narrower than this fraction of it; then sampling stops."""

MOST_EXPONENT = math.log(sys.float_info.max)
"""Evidence beyond it does not fit into a float, and is given as the largest that does."""

Verdict = Literal["faster", "tie", "slower"]


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises `ValueError` where there is none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("median of no values; at least one was expected")
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def geometric_mean(values: Sequence[float]) -> float:
    """The only mean under which ratios of times do not depend on the baseline (Fleming and Wallace, CACM 1986).

    Raises `ValueError` for no values and for values that are not positive and finite.
    """
    if not values:
        raise ValueError("geometric mean of no values; at least one was expected")
    return math.exp(math.fsum(_log(value) for value in values) / len(values))


def median_ci(
    samples: Sequence[float], confidence: float = 0.95, resamples: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of the median (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
    chapter 13). The same arguments give the same interval. Raises `ValueError` for fewer than two samples.

    Its ends are quantiles of the resampled median, which take about 1000 resamples (chapter 19).
    """
    if len(samples) < 2:
        raise ValueError(f"an interval from {len(samples)} samples; at least 2 were expected")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}; a fraction between 0 and 1 was expected")
    ordered = sorted(samples)
    medians = sorted((ordered[low] + ordered[high]) / 2 for low, high in _middles(len(samples), resamples, seed))
    tail = (1 - confidence) / 2
    return _quantile(medians, tail), _quantile(medians, 1 - tail)


@functools.lru_cache(maxsize=64)
def _middles(count: int, resamples: int, seed: int) -> tuple[tuple[int, int], ...]:
    """The ranks of the two middle values of each resample, the same rank twice where `count` is odd.

    A resample is drawn by ranks, so it does not depend on the samples, and a race that asks for an interval after every
    round draws once for each number of rounds.
    """
    draw, ranks = random.Random(seed).choices, range(count)
    drawn = (sorted(draw(ranks, k=count)) for _ in range(resamples))
    return tuple((one[(count - 1) // 2], one[count // 2]) for one in drawn)


def paired_log_ratio_ci(
    baseline_us: Sequence[float], candidate_us: Sequence[float], confidence: float = 0.95, seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """Median of the paired ratios baseline/candidate, and its bootstrap interval.

    Sample i of both must have been taken side by side, so that drift of clocks cancels within each pair; in
    logarithms the result inverts when the two change places. Raises `ValueError` for unequal lengths, times that
    are not positive, or fewer than `MIN_PAIRS` pairs.
    """
    if len(baseline_us) != len(candidate_us):
        raise ValueError(
            f"{len(baseline_us)} baseline samples and {len(candidate_us)} candidate samples; pairs expected"
        )
    if len(baseline_us) < MIN_PAIRS:
        raise ValueError(f"{len(baseline_us)} pairs; at least {MIN_PAIRS} were expected for an interval at 95 %")
    logs = [_log(a) - _log(b) for a, b in zip(baseline_us, candidate_us, strict=True)]
    lower, upper = median_ci(logs, confidence, seed=seed)
    return math.exp(median(logs)), (math.exp(lower), math.exp(upper))


def is_known(ci: tuple[float, float]) -> bool:
    """Whether more pairs would say little more of a ratio with this interval."""
    lower, upper = ci
    return upper - lower <= PRECISE * upper


def verdict(ci: tuple[float, float], noise_floor: float) -> Verdict:
    """What an interval of the ratio baseline/candidate says.

    noise_floor: fraction by which a kernel timed against itself was seen to differ. "faster" needs the lower end
    above 1 plus that; "slower" is the same with the two exchanged; everything else is a tie.
    """
    if noise_floor < 0:
        raise ValueError(f"noise floor {noise_floor}; a fraction of at least 0 was expected")
    lower, upper = ci
    if lower > 1 + noise_floor:
        return "faster"
    return "slower" if upper < 1 / (1 + noise_floor) else "tie"


def t_evidence(values: Sequence[float], effect_variance: float = 10.0) -> float:
    """Evidence against "these are noise around zero", valid however often it is looked at.

    Under the hypothesis, independent normal values of mean 0 and any one spread, the chance that this ever reaches
    1/alpha is at most alpha (Ville 1939), so sampling may stop at any moment. It is the likelihood ratio of the t
    statistic, the mean in units of the spread drawn from N(0, effect_variance) under the alternative (Lai 1976; Wang
    and Ramdas, Anytime-valid t-tests, 2023). 1 where there are fewer than two values or all are zero. Values that
    depend on each other, or rarely lie far to one side, reach it more often.
    """
    count, squares = len(values), math.fsum(value * value for value in values)
    if count < 2 or squares == 0:
        return 1.0
    prior = 1 / effect_variance
    explained = math.fsum(values) ** 2 / ((count + prior) * squares)
    logarithm = (math.log(prior / (count + prior)) - count * math.log1p(-explained)) / 2
    return math.exp(min(logarithm, MOST_EXPONENT))


def _log(value: float) -> float:
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{value} where a positive, finite number was expected")
    return math.log(value)


def _quantile(ordered: Sequence[float], fraction: float) -> float:
    """Linear interpolation between order statistics (Hyndman and Fan 1996, definition 7)."""
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
