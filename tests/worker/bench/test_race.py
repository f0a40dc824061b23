"""A race: it ends soon where the candidate is surely slower, precisely where the two are close, and in time always; a
gain is one with places exchanged, too."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

import pytest

from kernelwright.worker.bench.race import BEHIND, KNOWN, LOST, MARGIN, MOST, UNCONFIRMED, Race, race, race_over

ENOUGH = 60


def raced(ratio: float, noise: float, seed: int = 0) -> tuple[str, int]:
    """How a race of a candidate with this ratio to the best ends, and after how many rounds."""
    rng = random.Random(seed)
    ours: list[float] = []
    theirs: list[float] = []
    while True:
        theirs.append(100 * rng.gauss(1, noise))
        ours.append(100 * ratio * rng.gauss(1, noise))
        stopped = race_over(ours, theirs, ENOUGH)
        if stopped:
            return stopped, len(ours)


@pytest.mark.parametrize("ratio", [1.04, 1.2, 1.5])
def test_a_candidate_that_is_clearly_slower_is_dropped_within_six_rounds(ratio: float) -> None:
    stopped, rounds = raced(ratio, 0.003)
    assert stopped == LOST
    assert rounds <= 6


@pytest.mark.parametrize(("ratio", "races"), [(0.5, 40), (0.97, 40), (1.0, 40), (1 + MARGIN, 200)])
def test_a_candidate_that_is_not_slower_by_more_than_the_margin_is_not_dropped_early(ratio: float, races: int) -> None:
    """Most races are run where an error is likeliest."""
    ended = [raced(ratio, 0.004, seed)[0] for seed in range(races)]
    assert ended.count(LOST) <= races // 50


def test_a_candidate_a_little_slower_is_measured_precisely_and_then_known_to_be_behind() -> None:
    stopped, rounds = raced(1.006, 0.001)
    assert stopped == BEHIND
    assert rounds >= 6


def test_a_faster_one_is_measured_precisely() -> None:
    assert raced(0.98, 0.001)[0] == KNOWN


def test_a_race_that_noise_keeps_open_ends_all_the_same() -> None:
    assert raced(1.0, 0.2) == (MOST, ENOUGH)


def whole(
    ratio: float, noise: float = 0.002, seed: int = 0, lucky: float = 0.0, first: float = 0.0
) -> tuple[Race, int]:
    """A whole race of a candidate with this ratio to the best, and how often places were exchanged.

    lucky: what its first capture gained; first: what the first sample of each round gains.
    """
    rng = random.Random(seed)
    exchanged, count = 0, 0

    def sampler(true_us: float, luck: float) -> Callable[[], float]:
        def sample() -> float:
            nonlocal count
            at_first, count = count % 4 == 0, count + 1
            return true_us * math.exp(rng.gauss(0, noise) - first * at_first - luck * (not exchanged))

        return sample

    def exchange() -> None:
        nonlocal exchanged
        exchanged += 1

    found = race(sampler(100 * ratio, lucky), sampler(100, 0.0), exchange, random.Random(seed), ENOUGH)
    return found, exchanged


def test_a_gain_is_sampled_again_with_places_exchanged_in_as_many_rounds() -> None:
    found, exchanged = whole(0.98)
    assert (found.gained, found.stopped, exchanged) == (True, KNOWN, 1)
    assert len(found.ours_us) == len(found.theirs_us) >= 12
    assert len(found.ours_us) % 2 == 0


def test_a_gain_that_was_luck_of_a_capture_is_none() -> None:
    found, exchanged = whole(1.0, lucky=0.02)
    assert (found.gained, found.stopped, exchanged) == (False, UNCONFIRMED, 1)


@pytest.mark.parametrize(("ratio", "stopped"), [(1.2, LOST), (1.006, BEHIND)])
def test_what_is_slower_is_not_captured_again(ratio: float, stopped: str) -> None:
    found, exchanged = whole(ratio, noise=0.001)
    assert (found.gained, found.stopped, exchanged) == (False, stopped, 0)


def test_equal_ones_rarely_gain() -> None:
    gained = sum(whole(1.0, seed=seed)[0].gained for seed in range(60))
    assert gained <= 3


def test_the_place_in_a_round_decides_no_race() -> None:
    """The first sample of each round is 0.4 % faster: 0.2 % of a round's mean, of each of the two in half of them."""
    found = [whole(1.0, seed=seed, first=0.004)[0] for seed in range(50)]
    mean = statistics.fmean(
        math.log(ours / theirs) for one in found for ours, theirs in zip(one.ours_us, one.theirs_us, strict=True)
    )
    assert abs(mean) < 0.0004
    assert not any(one.stopped == LOST for one in found)
    assert sum(one.gained for one in found) <= 3


def test_a_race_that_noise_keeps_open_ends_at_most_rounds_of_each_half() -> None:
    found, exchanged = whole(0.9, noise=0.2)
    assert len(found.ours_us) == ENOUGH * (1 + exchanged)
