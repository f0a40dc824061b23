"""Profiles that Nsight Compute took on an H200, and what is to be said of them.

The times are those of the same kernels on the same kind of device (gallery/*/results), the code's widths what nvdisasm
found in them.
"""

from __future__ import annotations

import msgspec
import pytest

from kernelwright import roofline
from kernelwright.diagnosis import diagnose
from kernelwright.model import Case, CaseInfo, Counter, Limit, Profile, TensorSpec, Timing
from profiles import recorded

PEAKS = {
    "copy_bytes_per_s": 4.267e12, "read_bytes_per_s": 4.395e12, "write_bytes_per_s": 4.686e12,
    "bfloat16_flop_per_s": 7.7e14, "float16_flop_per_s": 7.4e14, "float32_flop_per_s": 5.07e13,
}  # fmt: skip


def case(read: int, written: int, flop: int, dtype: str) -> CaseInfo:
    """read, written: in elements of two bytes."""
    least = roofline.bound(2 * (read + written), 2 * written, {dtype: flop}, PEAKS, "measured")
    given, made = (TensorSpec(shape=(size,), dtype=dtype, stride=(1,)) for size in (read, written))
    return CaseInfo(case=Case(name="only"), inputs=(given,), outputs=(made,), bytes=least.bytes, flop=flop, bound=least)


DEPTHWISE = case(16 * 64 * 512 * 512, 16 * 64 * 510 * 510, 2 * 9 * 16 * 64 * 510 * 510, "bfloat16")
RMSNORM = case(112 * 64 * 512 * 512, 112 * 64 * 512 * 512, 0, "bfloat16")
MATMUL = case(2 * 4096**2, 4096**2, 2 * 4096**3, "float16")


def profile(name: str, **in_code: float) -> Profile:
    (launch,) = recorded(name)
    added = tuple(Counter(name=n, value=v, unit="x", tool="nvdisasm") for n, v in in_code.items())
    launch = msgspec.structs.replace(launch, counters=(*launch.counters, *added))
    return Profile(
        implementation=name, case="only", device="NVIDIA H200", target="sm_90", tool="ncu", launches=(launch,)
    )


def test_the_depthwise_starter_issues_too_many_instructions_for_loads_of_two_bytes() -> None:
    seen = profile("depthwise_conv2d-starter", code_global_load_width=2.0, code_tensor_instructions=0.0)
    found = diagnose(DEPTHWISE, Timing(kind="measured", median_us=875.1), seen, PEAKS)
    assert found.share == pytest.approx(0.29, abs=0.01)
    assert found.bottleneck.limit is Limit.INSTRUCTIONS
    assert "width of global loads" in [evidence.metric for evidence in found.bottleneck.evidence]
    assert found.bottleneck.moves[0] == "wider loads"


def test_the_frameworks_depthwise_convolution_does_so_as_well() -> None:
    found = diagnose(DEPTHWISE, Timing(kind="measured", median_us=2512.2), profile("depthwise_conv2d-eager"), PEAKS)
    assert found.bottleneck.limit is Limit.INSTRUCTIONS
    assert found.share == pytest.approx(0.1, abs=0.01)


def test_the_best_rmsnorm_is_at_the_bound_though_l2_looks_busier_than_dram() -> None:
    seen = profile("rmsnorm-best", code_global_load_width=16.0, code_tensor_instructions=0.0)
    found = diagnose(RMSNORM, Timing(kind="measured", median_us=1824.5), seen, PEAKS)
    assert found.bottleneck.limit is Limit.NONE
    assert found.alternatives[0].limit is Limit.DRAM


def test_the_compiled_rmsnorm_exchanges_values_through_shared_memory() -> None:
    found = diagnose(RMSNORM, Timing(kind="measured", median_us=3346.6), profile("rmsnorm-compile"), PEAKS)
    assert found.bottleneck.limit is Limit.SHARED
    assert [evidence.metric for evidence in found.bottleneck.evidence][-1] == "bank conflicts"


def test_the_matmul_starter_is_held_back_by_the_tensor_cores_and_not_at_the_bound() -> None:
    seen = profile("matmul-starter", code_global_load_width=16.0, code_tensor_instructions=2.0)
    found = diagnose(MATMUL, Timing(kind="measured", median_us=262.7), seen, PEAKS)
    assert found.bottleneck.limit is Limit.TENSOR
    assert found.share == pytest.approx(0.7, abs=0.01)
    assert {Limit.SYNCHRONISATION, Limit.EXCESS_BYTES} <= {one.limit for one in found.alternatives}
