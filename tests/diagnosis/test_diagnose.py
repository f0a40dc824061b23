"""Profiles of kernels with a known bottleneck: each is diagnosed, by the figures that show it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kernelwright.diagnosis import diagnose, diagnoses
from kernelwright.diagnosis.table import RULES
from kernelwright.model import (
    Bound,
    Case,
    CaseInfo,
    CaseResult,
    Counter,
    Evaluation,
    KernelResources,
    LaunchProfile,
    Limit,
    ProblemInfo,
    Profile,
    Status,
    TensorSpec,
    Timing,
)

BYTES = 400_000_000
PEAKS = {"float32_flop_per_s": 5e13, "bfloat16_flop_per_s": 8e14}


def case(flop: int = 0, dtype: str = "bfloat16", name: str = "only") -> CaseInfo:
    """100 µs for its bytes."""
    spec = TensorSpec(shape=(100_000_000,), dtype=dtype, stride=(1,))
    by_flop_us = flop / 8e14 * 1e6
    bound = Bound(
        bound_us=max(100.0, by_flop_us), bound_by="flop" if by_flop_us > 100 else "bytes", bytes=BYTES, flop=flop,
        peaks="measured", bytes_per_s=4e12, flop_per_s=8e14,
    )  # fmt: skip
    return CaseInfo(case=Case(name=name), inputs=(spec,), outputs=(spec,), bytes=BYTES, flop=flop, bound=bound)


def launch(kernel: str = "k", grid: tuple[int, ...] = (13200, 1, 1), **counters: float) -> LaunchProfile:
    return LaunchProfile(
        kernel=kernel, grid=grid, block=(128, 1, 1),
        counters=tuple(Counter(name=n, value=v, unit="x", tool="ncu") for n, v in counters.items()),
    )  # fmt: skip


def profile(*launches: LaunchProfile) -> Profile:
    return Profile(implementation="abc", case="only", device="GPU", target="sm_90", tool="ncu", launches=launches)


def timing(median_us: float, **others: Any) -> Timing:
    return Timing(kind="measured", median_us=median_us, **others)


HEALTHY = {
    "dram_read": 0.5 * BYTES, "dram_write": 0.5 * BYTES, "dram_throughput": 0.4, "l1_throughput": 0.3,
    "l2_throughput": 0.3, "issue_active": 0.2, "tensor_pipe": 0.0, "occupancy_limit": 1.0, "registers": 32,
    "shared_memory": 0, "spills": 0, "waves": 50.0, "global_load_requests": 100.0, "global_load_sectors": 1600.0,
    "code_global_load_width": 16.0, "code_tensor_instructions": 0, "local_load_sectors": 0, "local_store_sectors": 0,
    "global_store_requests": 100.0, "global_store_sectors": 1600.0,
}  # fmt: skip
"""Nothing is wrong with it, and nothing is busy."""


def limit_of(info: CaseInfo, time: Timing | None, **counters: float) -> Limit:
    return diagnose(info, time, profile(launch(**{**HEALTHY, **counters})), PEAKS).bottleneck.limit


CHARACTERS = {
    "memory-bound at the limit": (95.0 / 0.95, {"dram_throughput": 0.92}, Limit.NONE),
    "uncoalesced": (400.0, {"global_load_sectors": 3200.0, "code_global_load_width": 4.0}, Limit.UNCOALESCED),
    "low occupancy through registers": (300.0, {"occupancy_limit": 0.125, "registers": 255}, Limit.OCCUPANCY),
    "spilling": (300.0, {"spills": 96, "local_load_sectors": 900.0, "local_store_sectors": 400.0}, Limit.SPILLS),
    "a tiny grid": (300.0, {"waves": 0.06}, Limit.GRID),
    "a last wave that is mostly empty": (300.0, {"waves": 1.1}, Limit.GRID),
    "instruction-bound": (300.0, {"issue_active": 0.85, "pipe_alu": 0.8}, Limit.INSTRUCTIONS),
    "more bytes than compulsory": (250.0, {"dram_read": 2.0 * BYTES, "dram_throughput": 0.8}, Limit.EXCESS_BYTES),
    "bound by L1": (300.0, {"l1_throughput": 0.95, "code_global_load_width": 2.0, "global_load_sectors": 200.0},
                    Limit.CACHE),
    "bound by L2": (300.0, {"l2_throughput": 0.9}, Limit.CACHE),
    "DRAM busy with what it must": (130.0, {"dram_throughput": 0.8}, Limit.DRAM),
    "waiting for memory": (300.0, {"stall_long_scoreboard": 8.0, "stall_wait": 1.0}, Limit.LATENCY),
    "waiting at barriers": (300.0, {"stall_barrier": 6.0, "stall_long_scoreboard": 2.0}, Limit.SYNCHRONISATION),
}  # fmt: skip


@pytest.mark.parametrize("character", CHARACTERS)
def test_a_profile_of_known_character_is_recognised(character: str) -> None:
    time_us, counters, limit = CHARACTERS[character]
    grid = (8, 1, 1) if character == "a tiny grid" else (13200, 1, 1)
    seen = profile(launch(grid=grid, **{**HEALTHY, **counters}))
    found = diagnose(case(), timing(time_us), seen, PEAKS)
    assert found.bottleneck.limit is limit
    assert found.bottleneck.kernel == "k"
    for evidence in found.bottleneck.evidence:
        beyond = (
            evidence.value > evidence.threshold if evidence.relation == "above" else evidence.value < evidence.threshold
        )
        assert beyond, evidence
        assert evidence.tool
        assert evidence.implies


def test_tensor_cores_that_are_not_used_where_nothing_else_would_do() -> None:
    info = case(flop=200_000_000_000)  # 250 µs by FLOP on tensor cores, 4000 without
    assert limit_of(info, timing(9000.0)) is Limit.TENSOR_UNUSED
    assert limit_of(info, timing(900.0), code_tensor_instructions=4, tensor_pipe=0.3) is Limit.TENSOR
    assert limit_of(info, timing(400.0), code_tensor_instructions=4, tensor_pipe=0.8) is Limit.TENSOR


def test_float32_is_not_asked_onto_the_tensor_cores() -> None:
    info = case(flop=200_000_000_000, dtype="float32")
    assert limit_of(info, timing(9000.0), issue_active=0.9) is Limit.INSTRUCTIONS


def test_a_call_that_is_mostly_host_is_launch_bound() -> None:
    found = diagnose(case(), timing(8.0, call_us=40.0), profile(launch(**HEALTHY)), PEAKS)
    small = CaseInfo(case=Case(name="only"), inputs=(), outputs=(), bytes=400, flop=0,
                     bound=Bound(bound_us=1.0, bound_by="bytes", bytes=400, flop=0, peaks=""))  # fmt: skip
    assert found.bottleneck.limit is Limit.NONE  # 8 µs against 100: this cannot be, and is not the rule's to say
    found = diagnose(small, timing(8.0, call_us=40.0), profile(launch(**HEALTHY)), PEAKS)
    assert found.bottleneck.limit is Limit.LAUNCH
    assert found.bottleneck.at_stake_us == pytest.approx(32.0)
    assert (
        diagnose(small, timing(8.0, call_us=20.0), profile(launch(**HEALTHY)), PEAKS).bottleneck.limit
        is not Limit.LAUNCH
    )


def test_many_launches_in_little_time_are_launch_bound() -> None:
    tiny = [launch(f"k{i}", **HEALTHY, duration=1.5) for i in range(4)]
    found = diagnose(case(), timing(150.0), profile(*tiny), PEAKS)
    assert found.bottleneck.limit is not Limit.LAUNCH
    assert diagnose(case(), timing(120.0), profile(*tiny * 10), PEAKS).bottleneck.limit is Limit.LAUNCH


@pytest.mark.parametrize("dram", [0.3, 0.6, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("compute", [0.2, 0.9])
def test_a_kernel_at_40_percent_of_the_limit_is_never_called_at_it(dram: float, compute: float) -> None:
    """However busy a counter is: the bound is arithmetic, and a busy part may be busy in vain."""
    counters = {**HEALTHY, "dram_throughput": dram, "issue_active": compute}
    found = diagnose(case(), timing(250.0), profile(launch(**counters)), PEAKS)
    assert found.share == pytest.approx(0.4)
    assert found.bottleneck.limit not in (Limit.NONE, Limit.UNKNOWN)
    assert found.bottleneck.moves
    said = " ".join(finding.summary for finding in (found.bottleneck, *found.alternatives))
    assert "roofline" not in said
    assert Limit.NONE not in [one.limit for one in found.alternatives]


def test_an_estimate_is_never_evidence_of_being_at_the_bound() -> None:
    estimate = Timing(kind="estimate", median_us=101.0)
    found = diagnose(case(), estimate, None, PEAKS)
    assert (found.bottleneck.limit, found.kind) == (Limit.UNKNOWN, "estimate")
    assert found.share is None


def test_without_counters_the_compiler_speaks() -> None:
    def compiled(**counters: float) -> Limit:
        seen = Profile(implementation="abc", case="only", device=None, target="sm_90", tool=None,
                       launches=(launch(**counters),))  # fmt: skip
        return diagnose(case(), None, seen, PEAKS).bottleneck.limit

    assert compiled(spills=64.0) is Limit.SPILLS
    assert compiled(code_global_load_width=2.0) is Limit.CACHE
    assert compiled(code_global_load_width=16.0) is Limit.UNKNOWN
    assert compiled(occupancy_limit=0.1, registers=255.0) is Limit.OCCUPANCY
    assert compiled(waves=1.05) is Limit.GRID


def test_spills_beside_what_the_copy_engine_moves_past_l1_are_not_the_bottleneck() -> None:
    """As cuDNN's kernel for a transposed convolution on an H200: its loads are bulk copies, which only L2 counts."""
    counters = {"global_load_sectors": 0.0, "global_store_sectors": 1.0, "local_load_sectors": 1.526e6,
                "local_store_sectors": 0.481e6, "l2_sectors": 101.2e6, "occupancy_limit": 0.1875}  # fmt: skip
    assert limit_of(case(), timing(300.0), **counters) is Limit.OCCUPANCY
    assert limit_of(case(), timing(300.0), **{**counters, "l2_sectors": 10e6}) is Limit.SPILLS


def test_the_longest_launch_is_the_one_that_is_diagnosed() -> None:
    short = launch("short", **{**HEALTHY, "duration": 10.0, "issue_active": 0.9})
    long = launch("long", **{**HEALTHY, "duration": 240.0, "l1_throughput": 0.9})
    found = diagnose(case(), timing(250.0), profile(short, long), PEAKS)
    assert (found.bottleneck.kernel, found.bottleneck.limit) == ("long", Limit.CACHE)


def test_excess_bytes_that_explain_little_of_the_time_come_after_what_explains_it() -> None:
    counters = {**HEALTHY, "dram_read": 2.0 * BYTES, "dram_throughput": 0.1, "occupancy_limit": 0.1875}
    found = diagnose(case(), timing(2000.0), profile(launch(**counters)), PEAKS)
    assert found.bottleneck.limit is Limit.OCCUPANCY
    assert found.alternatives[-1].limit is Limit.EXCESS_BYTES
    alone = diagnose(case(), timing(200.0), profile(launch(**counters)), PEAKS)
    assert alone.bottleneck.limit is Limit.EXCESS_BYTES


def test_excess_bytes_that_dram_has_time_for_are_not_the_bottleneck() -> None:
    counters = {**HEALTHY, "dram_read": 2.0 * BYTES, "l1_throughput": 0.95}
    found = diagnose(case(), timing(500.0), profile(launch(**counters)), PEAKS)
    assert found.bottleneck.limit is Limit.CACHE
    assert Limit.EXCESS_BYTES in [one.limit for one in found.alternatives]


def test_few_warps_feed_tensor_cores_but_not_ones_that_idle() -> None:
    info, few = case(flop=20_000_000_000), {"occupancy_limit": 0.125, "registers": 255, "code_tensor_instructions": 4}
    assert limit_of(info, timing(900.0), **few, tensor_pipe=0.02) is Limit.OCCUPANCY
    assert limit_of(info, timing(900.0), **few, tensor_pipe=0.4) is Limit.LATENCY


def test_what_limits_occupancy_is_named() -> None:
    counters = {**HEALTHY, "occupancy_limit": 0.125, "registers": 255}
    found = diagnose(case(), timing(300.0), profile(launch(**counters)), PEAKS)
    assert "limited by registers" in found.bottleneck.summary


def test_a_cause_goes_before_what_it_causes_and_the_effect_stays_as_an_alternative() -> None:
    counters = {**HEALTHY, "global_load_sectors": 3200.0, "code_global_load_width": 4.0, "dram_read": 3.0 * BYTES}
    found = diagnose(case(), timing(500.0), profile(launch(**counters)), PEAKS)
    assert found.bottleneck.limit is Limit.UNCOALESCED
    assert Limit.EXCESS_BYTES in [one.limit for one in found.alternatives]


def test_a_missing_counter_is_no_evidence_against_anything() -> None:
    for missing in HEALTHY:
        counters = {name: value for name, value in HEALTHY.items() if name != missing}
        found = diagnose(case(), timing(300.0), profile(launch(**counters)), PEAKS)
        assert found.bottleneck.limit is Limit.LATENCY, missing


def test_every_rule_holds_its_peace_about_nothing() -> None:
    found = diagnose(case(), None, profile(LaunchProfile(kernel="k")), PEAKS)
    assert found.bottleneck.limit is Limit.UNKNOWN
    assert len(RULES) == len(set(RULES))


def test_the_case_that_is_furthest_from_its_bound_comes_first_and_unprofiled_ones_have_the_compiler() -> None:
    spec = KernelResources(
        kernel="k", target="sm_90", registers=255, spill_bytes=64, shared_bytes=0, num_warps=4, num_stages=2,
        occupancy=0.125, limited_by="registers", cubin_sha="a",
    )  # fmt: skip
    problem = ProblemInfo(name="p", format="native", source="", cases=(case(name="near"), case(name="far")))
    results = (
        CaseResult(case="near", status=Status.PASSED, timing=timing(120.0)),
        CaseResult(case="far", status=Status.PASSED, timing=timing(400.0)),
    )
    evaluation = Evaluation(status=Status.PASSED, results=results, kernels=(spec,))
    far, near = diagnoses(evaluation, (), problem, PEAKS)
    assert (far.case, near.case) == ("far", "near")
    assert far.bottleneck.limit is Limit.SPILLS


def test_what_holds_a_kernel_back_is_said_of_no_held_out_case_that_a_confirmation_timed() -> None:
    scored, held = case(name="scored"), case(name="held")
    held = msgspec.structs.replace(held, case=msgspec.structs.replace(held.case, held_out=True))
    results = (
        CaseResult(case="scored", status=Status.PASSED, timing=timing(120.0)),
        CaseResult(case="held", status=Status.PASSED, timing=timing(9000.0)),
    )
    problem = ProblemInfo(name="p", format="native", source="", cases=(scored, held))
    found = diagnoses(Evaluation(status=Status.PASSED, results=results), (), problem, PEAKS)
    assert [one.case for one in found] == ["scored"]
