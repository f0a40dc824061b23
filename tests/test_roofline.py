"""Bounds are arithmetic over measured peaks; estimates order configurations and are never below what is possible."""

from __future__ import annotations

import msgspec
import pytest

from kernelwright.devices import find_target
from kernelwright.model import (
    Bound,
    Case,
    CaseInfo,
    CaseResult,
    KernelResources,
    ProblemInfo,
    Status,
    TensorSpec,
    Timing,
)
from kernelwright.roofline import (
    LAUNCH_US,
    Launched,
    Point,
    bound,
    estimate_us,
    moving_s,
    points,
    ridge_flop_per_byte,
    roof_flop_per_s,
)

PEAKS = {
    "copy_bytes_per_s": 4e12, "read_bytes_per_s": 3e12, "write_bytes_per_s": 2e12,
    "bfloat16_flop_per_s": 8e14, "float32_flop_per_s": 5e13,
}  # fmt: skip
TARGET = find_target("sm_90")
KERNEL = KernelResources(
    kernel="k", target="sm_90", registers=32, spill_bytes=0, shared_bytes=0, num_warps=4, num_stages=3, occupancy=1.0,
    limited_by="warps", cubin_sha="a",
)  # fmt: skip
LEAST = bound(4_000_000_000, 2_000_000_000, {"float32": 0}, PEAKS, "measured here")


def kernel(**changes: object) -> KernelResources:
    return msgspec.structs.replace(KERNEL, **changes)


def estimate(*launches: tuple[KernelResources, int], least: Bound = LEAST, given: tuple[int, ...] = ()) -> float:
    """given: the bytes of the tensors of each launch; equal where not stated."""
    launched = [
        Launched(kernel, blocks, own)
        for (kernel, blocks), own in zip(launches, given or (1,) * len(launches), strict=True)
    ]
    return estimate_us(least, launched, TARGET, PEAKS["copy_bytes_per_s"])


def test_bytes_bound_when_they_take_longer() -> None:
    found = bound(4_000_000, 2_000_000, {"float32": 1_000_000}, PEAKS, "measured here")
    assert found.bound_us == pytest.approx(1.0)
    assert (found.bound_by, found.bytes, found.flop, found.peaks) == ("bytes", 4_000_000, 1_000_000, "measured here")


def test_flop_bound_when_they_take_longer() -> None:
    found = bound(4_000_000, 2_000_000, {"bfloat16": 80_000_000_000}, PEAKS, "measured here")
    assert found.bound_us == pytest.approx(100.0)
    assert found.bound_by == "flop"


@pytest.mark.parametrize(
    ("flop_by_dtype", "microseconds"),
    [
        ({}, 0.0),
        ({"bfloat16": 8 * 10**8}, 1.0),
        ({"float16": 6 * 10**8}, 1.0),
        ({"bfloat16": 8 * 10**8, "float16": 6 * 10**8}, 2.0),
        ({"float8_e4m3fn": 16 * 10**8}, 1.0),
        ({"int8": 8 * 10**8, "bfloat16": 8 * 10**8}, 1.5),
        ({"float64": 8 * 10**8}, 1.0),
        ({"float32": 5 * 10**13 + 8 * 10**14 // 3}, 1e6),
        ({"float32": 3 * 10**8, "bfloat16": 8 * 10**8}, 1.0),
    ],
)
def test_products_of_several_dtypes_share_the_matrix_units_and_float32_has_its_own_beside_them(
    flop_by_dtype: dict[str, int], microseconds: float
) -> None:
    found = bound(0, 0, flop_by_dtype, PEAKS | {"float16_flop_per_s": 6e14}, "")
    assert found.bound_us == pytest.approx(microseconds)
    assert (found.flop, found.flop_by_dtype) == (sum(flop_by_dtype.values()), flop_by_dtype)


def test_a_float32_product_of_three_half_precision_ones_is_not_below_the_bound() -> None:
    by_matrix_units_us = 3 * 1e12 / PEAKS["bfloat16_flop_per_s"] * 1e6
    assert bound(0, 0, {"float32": 10**12}, PEAKS, "").bound_us < by_matrix_units_us


def test_the_stated_part_of_a_bound_is_the_time_of_what_was_stated() -> None:
    sizes = (4_000_000, 2_000_000, {"bfloat16": 1_600_000_000}, PEAKS, "")
    assert bound(*sizes).stated_us == 0.0
    assert bound(*sizes, stated=("bytes",)).stated_us == pytest.approx(1.0)
    assert bound(*sizes, stated=("flop",)).stated_us == pytest.approx(2.0)
    assert bound(*sizes, stated=("bytes", "flop")).stated_us == bound(*sizes).bound_us == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("read_bytes", "written_bytes", "seconds"),
    [(3e12, 0, 1.0), (0, 2e12, 1.0), (2e12, 2e12, 1.0), (5e12, 2e12, 2.0), (2e12, 4e12, 2.0), (0, 0, 0.0)],
)
def test_what_is_read_and_written_goes_at_the_rate_of_a_copy_and_the_rest_at_its_own(
    read_bytes: float, written_bytes: float, seconds: float
) -> None:
    assert moving_s(int(read_bytes + written_bytes), int(written_bytes), PEAKS) == pytest.approx(seconds)


def test_a_bound_is_never_below_either_limit() -> None:
    for size in (0, 1, 10**6, 10**12):
        for flop in (0, 1, 10**6, 10**15):
            found = bound(size, size // 3, {"float32": flop}, PEAKS, "").bound_us
            assert found >= size / 4e12 * 1e6
            assert found >= flop / (5e13 + 8e14 / 3) * 1e6


@pytest.mark.parametrize("blocks", [1, 7, 132, 1000, 2112, 2113, 10**6])
def test_an_estimate_is_never_below_the_bound(blocks: int) -> None:
    assert estimate((KERNEL, blocks)) >= LEAST.bound_us + LAUNCH_US


def test_full_waves_of_a_full_device_come_close_to_the_bound() -> None:
    assert estimate((KERNEL, 2112 * 64)) < 1.1 * LEAST.bound_us + LAUNCH_US


def test_worse_kernels_are_estimated_slower() -> None:
    blocks = 2112 * 8
    assert estimate((kernel(occupancy=0.125), blocks)) > estimate((KERNEL, blocks))
    assert estimate((kernel(spill_bytes=64), blocks)) > estimate((KERNEL, blocks))
    assert estimate((KERNEL, 4)) > estimate((KERNEL, blocks)), "four blocks cannot keep the memory busy"
    assert estimate((KERNEL, 2113)) > estimate((KERNEL, 2112)), "one block more begins another wave"


def test_a_loop_over_few_blocks_has_the_loads_of_a_turn_under_way() -> None:
    """132 blocks of 4 warps whose loop moves 256 bytes a thread: with one load of 16 bytes it would take eleven times
    the bound."""
    loop, single = estimate((kernel(moved_bytes=256), 132)), estimate((KERNEL, 132))
    assert loop < 0.3 * single
    assert loop > LEAST.bound_us
    assert single == estimate((kernel(moved_bytes=16), 132))


def test_what_is_spilled_is_weighed_against_what_a_turn_moves() -> None:
    blocks = 2112 * 64
    wide, narrow = (estimate((kernel(spill_bytes=512, moved_bytes=moved), blocks)) for moved in (1024, 64))
    assert wide < 2.1 * LEAST.bound_us < narrow


def test_a_kernel_that_is_given_little_is_charged_little() -> None:
    few = (KERNEL, 8)
    large, small = (estimate((KERNEL, 2112 * 64), few, given=given) for given in ((1, 1), (999, 1)))
    assert small < 0.1 * large


def test_every_launch_costs() -> None:
    tiny = bound(4000, 2000, {"float32": 0}, PEAKS, "")
    one, two = estimate((KERNEL, 1), least=tiny), estimate((KERNEL, 1), (KERNEL, 1), least=tiny)
    assert two >= one + LAUNCH_US


def test_a_point_says_how_far_an_implementation_is_from_its_bound() -> None:
    least = bound(4_000_000_000, 2_000_000_000, {"bfloat16": 8_000_000_000}, PEAKS, "measured here")
    point = Point(name="starter", case="big", bound=least, time_us=4000.0, kind="measured")
    assert least.bound_us == pytest.approx(1000.0)
    assert (point.share, point.gap) == (pytest.approx(0.25), pytest.approx(4.0))
    assert point.flop_per_byte == pytest.approx(2.0)
    assert point.bytes_per_s == pytest.approx(1e12)
    assert point.flop_per_s == pytest.approx(2e12)


def test_the_roof_is_slanted_up_to_the_ridge_and_flat_beyond() -> None:
    least = bound(4_000_000_000, 2_000_000_000, {"bfloat16": 8_000_000_000}, PEAKS, "measured here")
    assert ridge_flop_per_byte(least) == pytest.approx(200.0)
    assert roof_flop_per_s(least, 2.0) == pytest.approx(8e12)
    assert roof_flop_per_s(least, 1000.0) == pytest.approx(8e14)


def test_work_without_counted_flop_has_no_intensity_rather_than_none_at_all() -> None:
    point = Point(name="starter", case="big", bound=LEAST, time_us=2000.0, kind="estimate")
    assert point.flop_per_byte is None
    assert point.flop_per_s is None
    assert point.share is None, "an estimate is no share of the bound"


def test_points_are_those_results_that_were_timed_on_a_case_with_a_bound() -> None:
    spec = TensorSpec(shape=(4,), dtype="float32", stride=(1,))
    cases = tuple(
        CaseInfo(case=Case(name=name), inputs=(spec,), outputs=(spec,), bytes=1, flop=0, bound=LEAST)
        for name in ("timed", "untimed")
    )
    problem = ProblemInfo(name="p", format="native", source="", cases=cases)
    results = [
        CaseResult(case="timed", status=Status.PASSED, timing=Timing(kind="measured", median_us=2000.0)),
        CaseResult(case="untimed", status=Status.PASSED),
    ]
    assert [(p.name, p.case, p.kind, p.gap) for p in points("best", results, problem)] == [
        ("best", "timed", "measured", pytest.approx(2.0))
    ]
