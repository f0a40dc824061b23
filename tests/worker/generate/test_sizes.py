"""Sizes near a case's own from which Inductor's numbers can be told."""

from __future__ import annotations

import pytest

from kernelwright.worker.generate.sizes import FEW_PARTS, NEIGHBOURS, STEPS, near, parts_of


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


@pytest.mark.parametrize("value", [8, 16, 32, 48, 64, 1024])
def test_two_equal_numbers_differ_at_some_neighbour(value: int) -> None:
    chosen = [tuple(near(value, number, place)[0] for number in range(NEIGHBOURS)) for place in range(12)]
    assert len(set(chosen)) == len(chosen)


@pytest.mark.parametrize("value", [3, 4, 5, 8, 17, 60])
def test_small_numbers_have_smaller_ones_where_there_are_any(value: int) -> None:
    for number in range(NEIGHBOURS):
        for place in range(4):
            assert all(2 < one < value for one in near(value, number, place))
    assert (value == 3) == (not near(value, 0, 0))


def test_the_last_neighbours_keep_the_divisors_of_a_round_number() -> None:
    for place in range(4):
        assert all(near(512, number, place)[0] % 32 == 0 for number in range(len(STEPS), NEIGHBOURS))


@pytest.mark.parametrize("chosen", [80, 128, 750, 2048, 8192, 14336])
def test_neighbours_have_different_numbers_of_parts_that_leave_a_rest(chosen: int) -> None:
    found = [parts_of(chosen * 4096 + 1, chosen, number) for number in range(1, NEIGHBOURS + 1)]
    assert len({chosen, *found}) == NEIGHBOURS + 1
    for count in found:
        assert (chosen * 4096 + 1) % count
        assert 1 << (count - 1).bit_length() == 1 << (chosen - 1).bit_length()


def test_a_number_of_parts_that_would_leave_no_rest_is_passed_over() -> None:
    assert [parts_of(length, 8192, 1) for length in (4609 * 101 + 1, 4609 * 101)] == [4609, 4610]


def test_where_parts_leave_no_rest_those_of_the_neighbours_leave_none() -> None:
    found = {parts_of(8192 * 105, 8192, number) for number in range(1, NEIGHBOURS + 1)}
    assert len(found) > 4
    assert all(8192 * 105 % count == 0 and 4096 < count <= 8192 for count in found)
    assert {parts_of(8192 * 128, 8192, number) for number in range(1, NEIGHBOURS + 1)} == {8192}


def test_few_parts_stay_as_many() -> None:
    assert {parts_of(100_003, FEW_PARTS, number) for number in range(1, NEIGHBOURS + 1)} == {FEW_PARTS}
