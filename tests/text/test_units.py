"""Numbers as text."""

from __future__ import annotations

import pytest

from kernelwright.text.units import (
    MICROSECOND,
    MILLISECOND,
    bytes_text,
    count_text,
    label,
    number_text,
    share_text,
    time_text,
    unit_for,
)


def test_an_estimated_time_says_so_and_a_measured_one_does_not() -> None:
    assert time_text(31.2, "estimate") == "31.20 µs (estimate)"
    assert time_text(31.2, "measured") == "31.20 µs"
    assert label(MILLISECOND, "estimate") == "ms, estimate"
    assert label(MILLISECOND, "measured") == "ms"


def test_a_column_is_in_milliseconds_only_when_all_of_it_is_that_long() -> None:
    assert unit_for([1060.0, 7470.0]) is MILLISECOND
    assert unit_for([1060.0, 999.0, None]) is MICROSECOND
    assert unit_for([None]) is MICROSECOND


@pytest.mark.parametrize(
    ("time_us", "text"), [(1.0612, "1.061"), (14.34, "14.34"), (273.4, "273.4"), (None, "-"), (0.0, "0.000")]
)
def test_a_time_keeps_about_four_digits(time_us: float | None, text: str) -> None:
    assert number_text(time_us, MICROSECOND) == text


def test_small_shares_keep_a_decimal() -> None:
    assert [share_text(share) for share in (0.013, 0.0996, 0.934, 1.0, None)] == ["1.3 %", "10 %", "93 %", "100 %", "-"]


def test_sizes_are_given_with_a_decimal_prefix() -> None:
    assert [bytes_text(size) for size in (0, 2048, 67108864, 4.3e9)] == ["0 B", "2.05 kB", "67.1 MB", "4.3 GB"]
    assert [count_text(count, "trial") for count in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
