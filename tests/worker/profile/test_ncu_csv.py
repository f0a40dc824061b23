"""What Nsight Compute writes is read as it is meant: units become ours, and what it could not read is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.worker.profile.ncu import options
from kernelwright.worker.profile.ncu_csv import launches, number, sizes
from kernelwright.worker.profile.readings import CHOSEN, normalised

RECORDED = Path(__file__).parent / "recorded"

RAW = """\
==PROF== Connected to process 4211 (/usr/bin/python3.12)
==PROF== Profiling "softmax_kernel": 0%....50%....100% - 7 passes
==PROF== Disconnected from process 4211
==WARNING== Unable to access the following 1 metrics: sm__inst_executed_pipe_tensor.sum.
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"dram__bytes_read.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum",\
"launch__registers_per_thread","sm__inst_executed_pipe_tensor.sum","dram__bytes.sum.per_second"
"","","","","","","","","","","","Mbyte","%","usecond","register/thread","","Tbyte/second"
"0","4211","python3.12","127.0.0.1","softmax_kernel","1","7","(128, 1, 1)","(4,096, 1, 1)","0","9.0",\
"33.554432","71.23","12.608","40","n/a","2.66"
"1","4211","python3.12","127.0.0.1","vectorized_elementwise_kernel","1","7","(128, 1, 1)","(16, 1, 1)","0","9.0",\
"1,024.5","0.4","2.1","16","","0"
"""
NAMES = {metric: name for name, metric in CHOSEN.items()}


def test_every_launch_is_read_with_its_place_and_counters_in_our_units() -> None:
    first, second = launches(RAW, NAMES)
    assert (first.kernel, first.grid, first.block) == ("softmax_kernel", (4096, 1, 1), (128, 1, 1))
    read = {counter.name: (counter.value, counter.unit) for counter in first.counters}
    assert read == {
        "dram_read": (pytest.approx(33_554_432), "bytes"),
        "dram_throughput": (pytest.approx(0.7123), "fraction"),
        "duration": (pytest.approx(12.608), "us"),
        "registers": (40, "register/thread"),
        "dram_bandwidth": (pytest.approx(2.66e12), "bytes/s"),
    }
    assert second.kernel == "vectorized_elementwise_kernel"
    assert second.value("dram_read") == pytest.approx(1_024.5e6)


def test_a_metric_that_was_not_read_is_absent_and_one_that_is_zero_is_not() -> None:
    first, second = launches(RAW, NAMES)
    assert first.value("tensor_instructions") is None
    assert second.value("dram_bandwidth") == 0.0


def test_a_metric_without_a_name_of_ours_is_left_out_or_on_request_keeps_its_own() -> None:
    assert launches(RAW, {})[0].counters == ()
    first, _ = launches(RAW, {}, full=True)
    assert first.value("dram__bytes_read.sum") == pytest.approx(33_554_432)
    assert {counter.tool for counter in first.counters} == {"ncu"}


def test_what_nsight_compute_wrote_on_an_h200_is_read() -> None:
    """Version 2025.3.1, as it came but for columns that nobody reads."""
    (launch,) = launches((RECORDED / "depthwise_conv2d-starter.csv").read_text(), NAMES)
    assert (launch.kernel, launch.grid, launch.block) == ("depthwise_conv2d_kernel", (255, 1024, 1), (128, 1, 1))
    assert launch.value("duration") == pytest.approx(874.304)
    assert launch.value("dram_read") == 536_906_240
    assert launch.value("dram_bandwidth") == pytest.approx(1.2052e12, rel=1e-3)
    assert launch.value("issue_active") == pytest.approx(0.7818)
    assert {counter.name for counter in launch.counters} == set(CHOSEN)
    units = {counter.name: counter.unit for counter in launch.counters}
    assert (units["duration"], units["sm_clock"], units["waves"]) == ("us", "Hz", "")
    (full,) = launches((RECORDED / "depthwise_conv2d-starter.csv").read_text(), NAMES, full=True)
    names = {counter.name for counter in full.counters}
    assert "profiler__replayer_passes" in names
    assert "device__attribute_l2_cache_size" not in names


def test_a_text_without_a_table_is_an_error_with_what_ncu_said() -> None:
    with pytest.raises(ValueError, match="No kernels were profiled"):
        launches("==WARNING== No kernels were profiled.\n", NAMES)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1500.0, "nsecond", (1.5, "us")),
        (1500.0, "ns", (1.5, "us")),
        (2.0, "msecond", (2000.0, "us")),
        (2.0, "second", (2e6, "us")),
        (3.0, "Kbyte", (3000.0, "bytes")),
        (3.0, "byte", (3.0, "bytes")),
        (1.5, "Ghz", (1.5e9, "Hz")),
        (4.0, "Kbyte/block", (4000.0, "bytes/block")),
        (50.0, "%", (0.5, "fraction")),
        (7.0, "inst", (7.0, "instructions")),
        (7.0, "sector", (7.0, "sector")),
        (7.0, "", (7.0, "")),
    ],
)
def test_units_lose_their_prefix(value: float, unit: str, expected: tuple[float, str]) -> None:
    got = normalised(value, unit)
    assert got == (pytest.approx(expected[0]), expected[1])


@pytest.mark.parametrize(("text", "value"), [("1,234.5", 1234.5), ("0", 0.0), ("n/a", None), ("", None), ("x", None)])
def test_a_cell_is_a_number_or_nothing(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("(128, 1, 1)", (128, 1, 1)), ("(65,535, 2, 1)", (65535, 2, 1)), ("128", ()), ("", ())]
)
def test_a_grid_is_three_sizes_also_with_commas_among_the_thousands(text: str, value: tuple[int, ...]) -> None:
    assert sizes(text) == value


def test_the_clocks_are_left_alone_and_the_caches_are_not() -> None:
    given = options(("one", "two"), full=False)
    assert given[given.index("--clock-control") + 1] == "none"
    assert given[given.index("--cache-control") + 1] == "all"
    assert given[given.index("--metrics") + 1] == "one,two"
    assert "--set" not in given
    assert "full" in options((), full=True)


def test_no_two_counters_share_a_metric() -> None:
    assert len(set(CHOSEN.values())) == len(CHOSEN)
