"""Medians, confidence intervals and the verdict between two implementations: pure arithmetic on floats.

The coordinator and the worker both import this file. A ratio is baseline over candidate, so above 1 means that the
candidate is faster. An interval is always (lower, upper).
"""

from __future__ import annotations

import functools
import math
import random
import sys
from collections.abc import Sequence
from typing import Literal

MIN_PAIRS = 6
"""Fewest pairs that allow a 95 % interval of the median: with n pairs the widest interval, (min, max), misses the
median with probability 2 * 0.5**n (sign test; Conover, Practical Nonparametric Statistics)."""

PRECISE = 0.005
"""Sampling stops when the 95 % interval of a time or a ratio is narrower than this fraction of its upper end."""

RESAMPLES = 1000
"""Number of resamples of a bootstrap. Quantiles of the resampled medians need about as many (Efron and Tibshirani, An
Introduction to the Bootstrap, 1993, chapter 19)."""

EFFECT_VARIANCE = 10.0
"""Variance of the mean, in units of the standard deviation, under the alternative hypothesis of `t_evidence`."""

MOST_EXPONENT = math.log(sys.float_info.max)
"""Logarithm of the largest float. Larger evidence is returned as that float."""

Verdict = Literal["faster", "tie", "slower"]


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises `ValueError` for an empty sequence."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("median of no values; at least one was expected")
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def geometric_mean(values: Sequence[float]) -> float:
    """Geometric mean: comparisons of ratios by it do not depend on the baseline (Fleming and Wallace, CACM 1986).

    Raises `ValueError` for no values and for values that are not positive and finite.
    """
    if not values:
        raise ValueError("geometric mean of no values; at least one was expected")
    return math.exp(math.fsum(_log(value) for value in values) / len(values))


def median_ci(samples: Sequence[float], confidence: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap interval of the median (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
    chapter 13). The same arguments give the same interval. Raises `ValueError` for fewer than two samples."""
    if len(samples) < 2:
        raise ValueError(f"an interval from {len(samples)} samples; at least 2 were expected")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}; a fraction between 0 and 1 was expected")
    ordered = sorted(samples)
    medians = sorted((ordered[low] + ordered[high]) / 2 for low, high in _middles(len(samples), seed))
    tail = (1 - confidence) / 2
    return _quantile(medians, tail), _quantile(medians, 1 - tail)


@functools.lru_cache(maxsize=64)
def _middles(count: int, seed: int) -> tuple[tuple[int, int], ...]:
    """The ranks of the two middle values of each resample, the same rank twice where `count` is odd.

    Resamples are drawn as ranks, so they do not depend on the sample values. A race that computes an interval after
    every round therefore draws once for each number of rounds.
    """
    draw, ranks = random.Random(seed).choices, range(count)
    drawn = (sorted(draw(ranks, k=count)) for _ in range(RESAMPLES))
    return tuple((one[(count - 1) // 2], one[count // 2]) for one in drawn)


def paired_log_ratio_ci(
    baseline_us: Sequence[float], candidate_us: Sequence[float], seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """Median of the paired ratios baseline/candidate, and its bootstrap interval at 95 %.

    Sample i of both must have been taken side by side, so that clock drift cancels within each pair. Logarithms make
    the result symmetric: exchanging the two inverts the ratio. Raises `ValueError` for unequal lengths, times that are
    not positive, or fewer than `MIN_PAIRS` pairs.
    """
    if len(baseline_us) != len(candidate_us):
        raise ValueError(
            f"{len(baseline_us)} baseline samples and {len(candidate_us)} candidate samples; pairs expected"
        )
    if len(baseline_us) < MIN_PAIRS:
        raise ValueError(f"{len(baseline_us)} pairs; at least {MIN_PAIRS} were expected for an interval at 95 %")
    logs = [_log(a) - _log(b) for a, b in zip(baseline_us, candidate_us, strict=True)]
    lower, upper = median_ci(logs, seed=seed)
    return math.exp(median(logs)), (math.exp(lower), math.exp(upper))


def is_known(ci: tuple[float, float]) -> bool:
    """Whether the interval of a ratio is narrow enough (`PRECISE`) to stop sampling."""
    lower, upper = ci
    return upper - lower <= PRECISE * upper


def verdict(ci: tuple[float, float], noise_floor: float) -> Verdict:
    """The verdict for an interval of the ratio baseline/candidate.

    noise_floor: measured difference, as a fraction, of a kernel timed against itself. "faster": the lower end is above
    1 + noise_floor. "slower": the upper end is below 1 / (1 + noise_floor). Everything else is a tie.
    """
    if noise_floor < 0:
        raise ValueError(f"noise floor {noise_floor}; a fraction of at least 0 was expected")
    lower, upper = ci
    if lower > 1 + noise_floor:
        return "faster"
    return "slower" if upper < 1 / (1 + noise_floor) else "tie"


def t_evidence(values: Sequence[float]) -> float:
    """Anytime-valid evidence (an e-value) against the null hypothesis "the values are noise around zero".

    Under the null hypothesis (independent normal values of mean 0 and one unknown variance), the probability that the
    evidence ever reaches 1/alpha is at most alpha (Ville 1939), so sampling may stop at any moment. The evidence is the
    likelihood ratio of the t statistic; under the alternative, the mean in units of the standard deviation is drawn
    from N(0, EFFECT_VARIANCE) (Lai 1976; Wang and Ramdas, Anytime-valid t-tests, 2023). It is 1 for fewer than two
    values and if all are zero. Dependent values, and values with rare outliers to one side, reach 1/alpha more often.
    """
    count, squares = len(values), math.fsum(value * value for value in values)
    if count < 2 or squares == 0:
        return 1.0
    prior = 1 / EFFECT_VARIANCE
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
