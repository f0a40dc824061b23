"""When a search has measured enough."""

from __future__ import annotations

from kernelwright.tune.search import enough


def test_it_takes_several_small_expectations_in_a_row() -> None:
    assert not enough([], 0.001, 5)
    assert not enough([0.0] * 4, 0.001, 5)
    assert enough([0.5, *[0.0005] * 5], 0.001, 5)
    assert not enough([0.0005, 0.0005, 0.002, 0.0005, 0.0005], 0.001, 5)
    assert enough([0.05, 0.01, 0.01], 0.02, 2)


def test_nothing_expected_yet_is_no_reason_to_stop() -> None:
    assert not enough([None] * 10, 0.001, 5)
    assert not enough([0.0, 0.0, None, 0.0, 0.0], 0.001, 5)
