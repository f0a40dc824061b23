"""When a search has measured enough."""

from __future__ import annotations

import random
import statistics

from kernelwright.tuning.enough import enough, gain_of_drawing


def test_it_takes_several_small_expectations_in_a_row() -> None:
    assert not enough([])
    assert not enough([0.0] * 4)
    assert enough([0.5, *[0.0005] * 5])
    assert not enough([0.0005, 0.0005, 0.002, 0.0005, 0.0005])
    assert enough([0.05, 0.01, 0.01], least_gain=0.02, in_a_row=2)


def test_nothing_expected_yet_is_no_reason_to_stop() -> None:
    assert not enough([None] * 10)
    assert not enough([0.0, 0.0, None, 0.0, 0.0])


def test_what_a_random_draw_promises_falls_with_the_number_of_draws() -> None:
    assert gain_of_drawing([1.0, 2.0]) is None
    assert gain_of_drawing([5.0] * 10) == 0.0
    few, many = gain_of_drawing([1.0, 1.1, 1.3]), gain_of_drawing([1.0, 1.1, 1.3, *[2.0] * 97])
    assert few is not None
    assert many is not None
    assert few > 20 * many > 0


def test_what_a_random_draw_promises_is_near_what_it_brings() -> None:
    """Over many searches of log-normal times, the promise for draw 21 is what draw 21 saved on average."""
    chance = random.Random(0)
    promised, brought = [], []
    for _ in range(4000):
        times_us = [chance.lognormvariate(3.0, 0.5) for _ in range(21)]
        gain = gain_of_drawing(times_us[:20])
        assert gain is not None
        promised.append(gain)
        brought.append(max(0.0, 1 - times_us[20] / min(times_us[:20])))
    assert 0.5 < statistics.mean(promised) / statistics.mean(brought) < 2.0
