"""What is shown where there is no room for all."""

from __future__ import annotations

import pytest

from kernelwright.diagnosis.format import SHOWN, longest, shown_counters, value_text
from kernelwright.model import Counter, LaunchProfile
from profiles import recorded


def launch(name: str, duration: float | None) -> LaunchProfile:
    counters = () if duration is None else (Counter(name="duration", value=duration, unit="us", tool="ncu"),)
    return LaunchProfile(kernel=name, counters=counters)


def test_the_longest_launches_are_shown_in_the_order_in_which_they_ran() -> None:
    launches = [launch("a", 5.0), launch("b", 1.0), launch("c", 9.0), launch("d", 7.0)]
    assert [one.kernel for one in longest(launches, 3)] == ["a", "c", "d"]
    assert longest(launches, 9) == tuple(launches)


def test_without_durations_the_first_are_shown() -> None:
    assert [one.kernel for one in longest([launch(name, None) for name in "abc"], 2)] == ["a", "b"]


def test_counters_come_in_the_order_in_which_they_are_read() -> None:
    (one,) = recorded("softmax-best")
    names = [counter.name for counter in shown_counters(one)]
    assert names == [name for name in SHOWN if name in names]
    assert names[:3] == ["duration", "dram_read", "dram_write"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.7818, "fraction", "78 %"), (0.0874, "fraction", "8.7 %"), (0.0, "fraction", "0 %"), (26.4, "us", "26.4 µs"),
        (536_906_240, "bytes", "537 MB"), (12, "bytes", "12 B"), (1.2052e12, "bytes/s", "1.21 TB/s"),
        (1024, "bytes/block", "1.02 kB/block"), (2.0, "bytes/instruction", "2 bytes/instruction"),
        (247.27, "", "247.3"),
    ],
)  # fmt: skip
def test_a_value_is_short_and_keeps_its_unit(value: float, unit: str, text: str) -> None:
    assert value_text(value, unit) == text
