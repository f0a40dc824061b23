"""Statistics: known values, stated properties, and coverage of the intervals on simulated samples."""

from __future__ import annotations

import math
import random

import pytest

from kernelwright.stats import (
    MIN_PAIRS,
    geometric_mean,
    is_known,
    median,
    median_ci,
    paired_log_ratio_ci,
    t_evidence,
    verdict,
)


def test_the_median_is_the_middle_value_or_the_mean_of_the_two() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5


def test_the_geometric_mean_of_ratios_is_inverse_when_the_ratios_are() -> None:
    ratios = [0.5, 1.3, 2.0, 7.0]
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean(ratios) == pytest.approx(1 / geometric_mean([1 / r for r in ratios]))


def test_the_geometric_mean_of_very_large_and_very_small_times_does_not_overflow() -> None:
    assert geometric_mean([1e300] * 5 + [1e-300] * 5) == pytest.approx(1.0)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -2.0], [1.0, math.nan], [1.0, math.inf]])
def test_a_geometric_mean_that_does_not_exist_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        geometric_mean(values)


def test_the_same_samples_give_the_same_interval_and_another_seed_another() -> None:
    rng = random.Random(1)
    samples = [rng.gauss(10, 1) for _ in range(40)]
    assert median_ci(samples) == median_ci(samples)
    assert median_ci(samples) != median_ci(samples, seed=1)
    assert median_ci(samples) == median_ci(samples[::-1]), "the order of samples says nothing of the median"


@pytest.mark.parametrize("count", [200, 201])
def test_the_interval_agrees_with_that_of_order_statistics(count: int) -> None:
    """The ends are the samples whose ranks a binomial of n and 1/2 gives (Conover, Practical Nonparametric
    Statistics)."""
    rng = random.Random(2)
    ordered = sorted(rng.gauss(50, 5) for _ in range(count))
    half = 1.96 * math.sqrt(count) / 2
    lower, upper = median_ci(rng.sample(ordered, count))
    assert ordered[round(count / 2 - half) - 4] <= lower <= ordered[round(count / 2 - half) + 3]
    assert ordered[round(count / 2 + half) - 4] <= upper <= ordered[round(count / 2 + half) + 3]


def test_a_higher_confidence_gives_an_interval_that_contains_the_lower_one() -> None:
    rng = random.Random(3)
    samples = [rng.expovariate(1) for _ in range(40)]
    wide, narrow = median_ci(samples, confidence=0.99), median_ci(samples, confidence=0.5)
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]


def test_the_interval_of_a_paired_ratio_covers_the_true_ratio_about_as_often_as_it_says() -> None:
    """Skewed noise shared by a pair, as drifting clocks give; 95 % less 3 standard errors of 200 runs."""
    rng, covered = random.Random(4), 0
    for run in range(200):
        drift = [1 + rng.expovariate(5) for _ in range(20)]
        baseline_us = [120 * d * math.exp(rng.gauss(0, 0.02)) for d in drift]
        candidate_us = [100 * d * math.exp(rng.gauss(0, 0.02)) for d in drift]
        _, (lower, upper) = paired_log_ratio_ci(baseline_us, candidate_us, seed=run)
        covered += lower <= 1.2 <= upper
    assert 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200) <= covered / 200


def test_pairing_removes_a_drift_that_would_hide_the_difference() -> None:
    drift = [1 + 0.1 * i for i in range(10)]
    ratio, (lower, upper) = paired_log_ratio_ci([105 * d for d in drift], [100 * d for d in drift])
    assert ratio == pytest.approx(1.05)
    assert lower == pytest.approx(1.05)
    assert upper == pytest.approx(1.05)


def test_exchanging_the_two_inverts_the_ratio() -> None:
    rng = random.Random(5)
    a_us, b_us = [rng.uniform(90, 110) for _ in range(15)], [rng.uniform(80, 120) for _ in range(15)]
    forward, (lower, upper) = paired_log_ratio_ci(a_us, b_us)
    backward, (inverse_upper, inverse_lower) = paired_log_ratio_ci(b_us, a_us)
    assert forward == pytest.approx(1 / backward)
    assert lower == pytest.approx(1 / inverse_lower, rel=0.02)
    assert upper == pytest.approx(1 / inverse_upper, rel=0.02)


def test_too_few_or_unpaired_samples_are_refused_rather_than_believed() -> None:
    with pytest.raises(ValueError, match=f"at least {MIN_PAIRS}"):
        paired_log_ratio_ci([2.0] * (MIN_PAIRS - 1), [1.0] * (MIN_PAIRS - 1))
    with pytest.raises(ValueError, match="pairs expected"):
        paired_log_ratio_ci([2.0] * 8, [1.0] * 7)
    with pytest.raises(ValueError, match="at least 2"):
        median_ci([1.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        median_ci([1.0, 2.0], confidence=95)


@pytest.mark.parametrize(
    ("ci", "expected"),
    [
        ((1.021, 1.10), "faster"),
        ((1.02, 1.10), "tie"),
        ((1.001, 1.5), "tie"),
        ((0.9, 1.1), "tie"),
        ((0.9, 0.985), "tie"),
        ((0.9, 0.98), "slower"),
    ],
)
def test_the_verdict_needs_the_whole_interval_beyond_the_noise_floor(ci: tuple[float, float], expected: str) -> None:
    assert verdict(ci, noise_floor=0.02) == expected


def test_a_verdict_never_changes_sides_when_the_two_are_exchanged() -> None:
    opposite = {"faster": "slower", "slower": "faster", "tie": "tie"}
    rng = random.Random(6)
    for _ in range(500):
        lower = rng.uniform(0.8, 1.2)
        upper = lower + rng.uniform(0, 0.2)
        assert verdict((1 / upper, 1 / lower), 0.03) == opposite[verdict((lower, upper), 0.03)]


@pytest.mark.parametrize(("interval", "known"), [((0.996, 1.0), True), ((0.994, 1.0), False), ((3.0, 3.0), True)])
def test_a_ratio_is_known_by_the_width_of_its_interval_to_half_a_per_cent(
    interval: tuple[float, float], known: bool
) -> None:
    assert is_known(interval) is known


def test_evidence_grows_with_values_that_agree_and_does_not_depend_on_their_unit() -> None:
    agreeing = [1.0, 1.1, 0.9, 1.05]
    assert t_evidence(agreeing[:2]) < t_evidence(agreeing[:3]) < 100 < t_evidence(agreeing)
    assert t_evidence([1e-6 * value for value in agreeing]) == pytest.approx(t_evidence(agreeing))
    assert t_evidence([-value for value in agreeing]) == pytest.approx(t_evidence(agreeing))


def test_values_on_both_sides_are_no_evidence() -> None:
    assert t_evidence([1.0, -1.1, 0.9, -1.05]) < 1
    assert t_evidence([]) == t_evidence([3.0]) == t_evidence([0.0, 0.0, 0.0]) == 1.0


def test_evidence_beyond_any_float_is_a_large_number() -> None:
    assert 1e300 < t_evidence([1.0] * 1000) < math.inf


@pytest.mark.parametrize("spread", [0.001, 3.0])
def test_noise_looked_at_after_every_value_seldom_reaches_the_evidence_of_one_in_twenty(spread: float) -> None:
    rng = random.Random(7)
    reached = 0
    for _ in range(1000):
        values: list[float] = []
        for _ in range(60):
            values.append(rng.gauss(0, spread))
            if t_evidence(values) >= 20:
                reached += 1
                break
    assert 5 <= reached <= 50
