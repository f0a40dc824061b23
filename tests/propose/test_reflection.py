"""Surprises, the counters that moved, and claims held against them."""

from __future__ import annotations

import msgspec
import pytest

from kernelwright.model import (
    Counter,
    Evaluation,
    KernelResources,
    LaunchProfile,
    Operator,
    Profile,
    Reflection,
    Timing,
    Trial,
)
from kernelwright.propose.reflection import (
    counters,
    counters_of,
    direction,
    moved,
    reflection_in,
    surprise,
    surprising,
)
from proposing import failed, passed, starter, trial


def kernel(registers: int, spill_bytes: int = 0) -> KernelResources:
    return KernelResources(
        kernel="k",
        target="sm_90",
        registers=registers,
        spill_bytes=spill_bytes,
        shared_bytes=0,
        num_warps=4,
        num_stages=3,
        occupancy=0.5,
        limited_by="registers",
        cubin_sha="0",
    )


def took(score_us: float, registers: int = 40, half: float = 0.01) -> Evaluation:
    timing = Timing(kind="measured", median_us=score_us, ci95_us=(score_us * (1 - half), score_us * (1 + half)))
    found = passed(score_us)
    results = tuple(msgspec.structs.replace(one, timing=timing if one.timing else None) for one in found.results)
    return msgspec.structs.replace(found, results=results, kernels=(kernel(registers),))


def child(score_us: float, expected: float | None = None, operator: Operator = Operator.IMPROVE) -> Trial:
    made = trial(1, "x", evaluation=took(score_us, 64), operator=operator, parents=(0,))
    return msgspec.structs.replace(made, proposal=msgspec.structs.replace(made.proposal, expected=expected))


PARENT = starter(took(100.0))


def test_a_change_that_was_to_help_and_made_it_surely_slower_is_a_surprise() -> None:
    assert surprise(PARENT, child(130)) == "a gain was expected, and it is 1.30× as slow"
    assert surprise(PARENT, child(130, 1.2)) == "1.20× as fast was expected, and it is 1.30× as slow"


def test_a_gain_far_beyond_what_was_expected_is_one_as_well() -> None:
    assert surprise(PARENT, child(50)) == "a gain was expected, and it is 2.00× as fast"
    assert surprise(PARENT, child(50, 1.9)) == ""


@pytest.mark.parametrize("score_us", [70, 95, 100, 103])
def test_what_was_to_be_expected_is_none(score_us: float) -> None:
    assert surprise(PARENT, child(score_us)) == ""


def test_noise_a_failure_a_tuning_and_an_estimate_beside_a_measurement_are_none() -> None:
    noisy = trial(1, "x", evaluation=took(110, half=0.2), parents=(0,))
    assert surprise(PARENT, noisy) == ""
    assert surprise(PARENT, trial(1, "x", evaluation=failed(), parents=(0,))) == ""
    assert surprise(PARENT, child(200, operator=Operator.TUNE)) == ""
    assert surprise(PARENT, trial(1, "x", evaluation=passed(200, "estimate"), parents=(0,))) == ""
    assert (
        surprise(starter(passed(100, "estimate")), trial(1, "x", evaluation=passed(200, "estimate"), parents=(0,)))
        == ""
    )


def test_only_surprises_that_nobody_spoke_of_are_left() -> None:
    slow = child(130)
    assert surprising([PARENT, slow]) == [slow]
    later = trial(2, "y", evaluation=took(90), parents=(0,))
    spoken = msgspec.structs.replace(later.proposal, reflection=Reflection(trial=1, lesson="x"))
    assert surprising([PARENT, slow, msgspec.structs.replace(later, proposal=spoken)]) == []


def test_a_repair_is_held_against_what_its_failed_version_was_made_from() -> None:
    broken = trial(1, "x", evaluation=failed(), parents=(0,))
    repair = trial(2, "y", evaluation=took(150), operator=Operator.REPAIR, parents=(1, 0))
    assert surprising([PARENT, broken, repair]) == [repair]


def test_counters_are_of_the_compiler_and_of_the_profiler_where_there_is_one() -> None:
    assert counters(PARENT)["registers"] == 40
    launches = tuple(
        LaunchProfile(
            kernel="k",
            counters=(
                Counter(name="duration", value=duration, unit="us", tool="ncu"),
                Counter(name="dram_read_bytes", value=1000.0, unit="bytes", tool="ncu"),
                Counter(name="l2_hit", value=hit, unit="fraction", tool="ncu"),
            ),
        )
        for duration, hit in ((10.0, 0.5), (30.0, 0.9))
    )
    profile = Profile(implementation="x", case="big", device="D", target="sm_90", tool="ncu", launches=launches)
    found = counters(PARENT, [profile])
    assert (found["dram_read_bytes"], found["duration"], found["l2_hit"]) == (2000.0, 40.0, 0.9)
    assert counters(trial(3, None)) == {}


def test_a_counter_that_hardly_moves_stays_the_same() -> None:
    assert [direction(100, 101), direction(100, 110), direction(0, 8), direction(0.5, 0.25), direction(0, 0)] == [
        "same", "up", "up", "down", "same",
    ]  # fmt: skip
    assert moved({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 4}) == ["b 2 → 4"]


def test_each_claim_is_checked_and_a_lesson_stands_only_on_claims_that_hold() -> None:
    before, after = {"registers": 40.0, "occupancy": 0.5}, {"registers": 64.0, "occupancy": 0.5}

    def said(*claims: str) -> Reflection:
        text = "It spilled.\n\n**Lesson:** wider rows cost registers.\n" + "\n".join(claims)
        found = reflection_in(text, 7, before, after)
        assert found is not None
        return found

    good = said("Claim: registers up", "- Claim: `occupancy` stayed same")
    assert (good.trial, good.lesson, good.claims_hold) == (7, "wider rows cost registers.", True)
    assert [(one.counter, one.direction, one.holds) for one in good.claims] == [
        ("registers", "up", True), ("occupancy", "same", True),
    ]  # fmt: skip
    assert [one.holds for one in said("Claim: registers down").claims] == [False]
    assert [one.holds for one in said("Claim: l2_hit up").claims] == [None]
    assert not said("Claim: registers up", "Claim: occupancy down").claims_hold
    assert not said("Claim: l2_hit up").claims_hold
    assert not said().claims_hold
    assert reflection_in("I do not know.\nClaim: registers up", 7, before, after) is None


def test_a_profilers_counters_are_compared_on_one_case_only() -> None:
    def profile(case: str, busy: float) -> Profile:
        counter = Counter(name="l1_throughput", value=busy, unit="fraction", tool="ncu")
        launches = (LaunchProfile(kernel="k", counters=(counter,)),)
        return Profile(implementation="x", case=case, device="D", target="sm_90", tool="ncu", launches=launches)

    child = trial(1, "x", evaluation=took(150), parents=(0,))
    same = {0: (profile("big", 0.9),), 1: (profile("big", 0.4),)}
    other = {0: (profile("big", 0.9),), 1: (profile("odd", 0.4),)}
    old, new = counters_of(child, [PARENT, child], same)
    assert (old["l1_throughput"], new["l1_throughput"]) == (0.9, 0.4)
    for profiles in (other, {0: same[0]}, {}):
        old, new = counters_of(child, [PARENT, child], profiles)
        assert "l1_throughput" not in old | new
        assert old["registers"] == 40
