"""Which limit is named first, and the evidence that comes with it."""

from __future__ import annotations

import msgspec
import pytest

from fakes import BOUND, CASES, PROBLEM, SPEC
from kernelwright.model import Bound, CaseInfo, CaseResult, Evaluation, KernelResources, ProblemInfo, Status, Timing
from kernelwright.propose.reading import first_limit

KERNEL = KernelResources(
    kernel="k",
    target="sm_90",
    registers=64,
    spill_bytes=0,
    shared_bytes=0,
    num_warps=4,
    num_stages=3,
    occupancy=0.5,
    limited_by="registers",
    cubin_sha="x",
)
FLOP = Bound(bound_us=50.0, bound_by="flop", bytes=8, flop=2_000_000, peaks="measured")


def timed(us: float, *kernels: KernelResources, kind: str = "measured") -> Evaluation:
    timing = Timing(kind="estimate" if kind == "estimate" else "measured", median_us=us)
    results = (CaseResult(case="big", status=Status.PASSED, timing=timing),)
    return Evaluation(status=Status.PASSED, results=results, score_us=us, kernels=kernels)


def problem(bound: Bound = BOUND) -> ProblemInfo:
    infos = [CaseInfo(case=case, inputs=(SPEC,), outputs=(SPEC,), bytes=1, flop=1, bound=bound) for case in CASES]
    return msgspec.structs.replace(PROBLEM, cases=tuple(infos))


def test_spills_come_first() -> None:
    spilling = msgspec.structs.replace(KERNEL, spill_bytes=48, registers=255)
    text = first_limit(timed(100.0, KERNEL, spilling), problem())
    assert text.startswith("Registers. `k` spills 48 bytes per thread to memory with 255 registers")


@pytest.mark.parametrize(
    ("us", "start"),
    [(52.0, "The bound itself."), (100.0, "Memory traffic."), (1000.0, "Memory traffic.")],
)
def test_the_share_of_the_bound_decides(us: float, start: str) -> None:
    text = first_limit(timed(us, KERNEL), problem())
    assert text.startswith(start)
    assert "against a bound of 50 µs" in text


def test_a_few_microseconds_are_mostly_launch() -> None:
    short = msgspec.structs.replace(BOUND, bound_us=0.5)
    assert first_limit(timed(3.0, KERNEL), problem(short)).startswith("Launching.")


def test_low_occupancy_matters_where_bytes_set_the_bound() -> None:
    idle = msgspec.structs.replace(KERNEL, occupancy=0.06, limited_by="shared", shared_bytes=200_000)
    text = first_limit(timed(100.0, idle), problem())
    assert text.startswith("Too few threads at once.")
    assert "only 6 % of the warp slots, limited by shared (64 registers, 200000 bytes of shared memory" in text
    assert first_limit(timed(100.0, idle), problem(FLOP)).startswith("Arithmetic.")


def test_arithmetic_is_named_with_its_work() -> None:
    assert "set by 2,000,000 FLOP: 50 % of it" in first_limit(timed(100.0, KERNEL), problem(FLOP))


def test_an_estimate_is_called_one() -> None:
    assert "takes 100 µs (an estimate)" in first_limit(timed(100.0, KERNEL, kind="estimate"), problem())


def test_what_is_not_known_is_said() -> None:
    assert first_limit(None, problem()) == "Nothing is known: it was not evaluated."
    assert first_limit(Evaluation(status=Status.WRONG), problem()) == "Nothing is known: it was not timed."


def test_only_timed_cases_count() -> None:
    hidden = CaseResult(case="odd", status=Status.PASSED, timing=Timing(kind="measured", median_us=9999.0))
    evaluation = timed(100.0, KERNEL)
    both = msgspec.structs.replace(evaluation, results=(*evaluation.results, hidden))
    assert "Case big" in first_limit(both, problem())
