"""When a race ends: soon where the candidate is surely slower, precisely where the two are close, in time always."""

from __future__ import annotations

import random

import pytest

from kernelwright.worker.race import BEHIND, KNOWN, LOST, MARGIN, MOST, race_over

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
def test_a_candidate_that_is_clearly_slower_is_let_go_within_six_rounds(ratio: float) -> None:
    stopped, rounds = raced(ratio, 0.003)
    assert stopped == LOST
    assert rounds <= 6


@pytest.mark.parametrize("ratio", [0.5, 0.97, 1.0, 1 + MARGIN])
def test_a_candidate_that_is_not_slower_by_more_than_the_margin_is_not_let_go_early(ratio: float) -> None:
    ended = [raced(ratio, 0.004, seed)[0] for seed in range(200)]
    assert ended.count(LOST) <= 4


def test_a_candidate_a_little_slower_is_measured_precisely_and_then_known_to_be_behind() -> None:
    stopped, rounds = raced(1.006, 0.001)
    assert stopped == BEHIND
    assert rounds >= 6


def test_a_faster_one_is_measured_precisely() -> None:
    assert raced(0.98, 0.001)[0] == KNOWN


def test_a_race_that_noise_keeps_open_ends_all_the_same() -> None:
    assert raced(1.0, 0.2) == (MOST, ENOUGH)
