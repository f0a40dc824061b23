"""Sizes near a case's own from which Inductor's numbers can be told."""

from __future__ import annotations

import pytest

from kernelwright.worker.generate.sizes import NEIGHBOURS, STEPS, near


def firsts(value: int, place: int) -> list[int]:
    return [near(value, number, place)[0] for number in range(len(STEPS))]


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("value", [60, 128, 224, 256, 2048])
def test_with_the_case_itself_they_leave_all_remainders_of_a_window(value: int, place: int) -> None:
    found = [value, *firsts(value, place)]
    for divisor in (2, 3, 4):
        assert {one % divisor for one in found} == set(range(divisor))


def test_no_two_numbers_keep_a_distance() -> None:
    for one in range(7):
        for other in range(one):
            distances = {a - b for a, b in zip(firsts(512, one), firsts(512, other), strict=True)}
            assert len(distances) > 1


@pytest.mark.parametrize("value", [3, 4, 5, 8, 17, 60])
def test_small_numbers_have_smaller_ones_where_there_are_any(value: int) -> None:
    for number in range(NEIGHBOURS):
        for place in range(4):
            assert all(2 < one < value for one in near(value, number, place))
    assert (value == 3) == (not near(value, 0, 0))


def test_the_last_neighbours_keep_the_divisors_of_a_round_number() -> None:
    for place in range(4):
        assert all(near(512, number, place)[0] % 32 == 0 for number in range(len(STEPS), NEIGHBOURS))
