"""Limits of architectures, and the occupancy that follows from them."""

from __future__ import annotations

import json
from importlib import resources

import msgspec
import pytest

from kernelwright.devices import TARGETS, find_target, occupancy
from kernelwright.devices.backend import BACKEND
from kernelwright.errors import ConfigError, MachineError

H200 = find_target("sm_90")


def test_an_unknown_target_is_said_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as error:
        find_target("sm_91")
    assert "sm_91" in str(error.value)
    assert all(name in (error.value.hint or "") for name in TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_is_named_after_its_capability_and_is_consistent(name: str) -> None:
    target = find_target(name)
    assert target.name == f"sm_{target.capability}"
    assert target.shared_bytes_per_block < target.shared_bytes_per_multiprocessor
    assert target.warps_per_multiprocessor % 4 == 0


# Worked by hand from the limits of compute capability 9.0: 64 warps, 32 blocks, 65536 registers, 228 KiB.
@pytest.mark.parametrize(
    ("warps", "registers", "shared_bytes", "fraction", "limited_by"),
    [
        (4, 32, 0, 1.0, "warps"),
        (1, 16, 0, 0.5, "blocks"),  # 32 blocks of one warp
        (4, 128, 0, 16 / 64, "registers"),  # 4096 registers a warp: 16 warps
        (4, 129, 0, 12 / 64, "registers"),  # allocated by 8 a thread: 4352 a warp, 15 warps, 3 blocks of 4
        (8, 64, 0, 32 / 64, "registers"),
        (4, 32, 100 * 1024, 8 / 64, "shared"),  # 101 KiB a block: 2 blocks
        (8, 32, 227 * 1024, 8 / 64, "shared"),
        (4, 32, 1, 1.0, "warps"),  # 2 KiB a block still leaves more than 16 blocks
        (32, 64, 0, 32 / 64, "registers"),
    ],
)
def test_occupancy_is_the_tightest_limit(
    warps: int, registers: int, shared_bytes: int, fraction: float, limited_by: str
) -> None:
    assert occupancy(H200, warps, registers, shared_bytes) == (pytest.approx(fraction), limited_by)


@pytest.mark.parametrize("name", TARGETS)
def test_more_of_anything_never_raises_occupancy(name: str) -> None:
    target = find_target(name)
    for warps in (1, 2, 4, 8, 16):
        by_registers = [occupancy(target, warps, registers, 0)[0] for registers in range(16, 256, 8)]
        by_shared = [occupancy(target, warps, 32, kib * 1024)[0] for kib in range(0, 100, 4)]
        for fractions in (by_registers, by_shared):
            assert fractions == sorted(fractions, reverse=True)
            assert all(0 <= fraction <= 1 for fraction in fractions)


def test_a_block_that_does_not_fit_has_no_occupancy() -> None:
    assert occupancy(H200, 32, 255, 0)[0] == 0.0
    assert occupancy(H200, 4, 32, 300 * 1024)[0] == 0.0


PEAKS = resources.files("kernelwright.devices").joinpath("peaks")


@pytest.mark.parametrize("file", [f.name for f in PEAKS.iterdir() if f.name.endswith(".json")])
def test_recorded_peaks_are_complete_and_say_where_they_come_from(file: str) -> None:
    found = json.loads(PEAKS.joinpath(file).read_text())
    assert {"copy_bytes_per_s", "read_bytes_per_s", "write_bytes_per_s"} <= set(found["peaks"])
    assert any(name.endswith("_flop_per_s") for name in found["peaks"])
    assert all(value > 1e9 for value in found["peaks"].values())
    assert found["source"].startswith(("measured ", "datasheet "))
    assert file.removesuffix(".json") in {t.device.replace(" ", "-").lower() for t in TARGETS.values()}


def test_a_found_gpu_has_the_limits_of_its_architecture_and_its_own_size() -> None:
    found = BACKEND.target_of(device="NVIDIA H100 PCIe", capability=90, multiprocessors=114, l2_bytes=50 << 20)
    assert found == msgspec.structs.replace(H200, device="NVIDIA H100 PCIe", multiprocessors=114, l2_bytes=50 << 20)
    with pytest.raises(MachineError, match="NVIDIA V100 is sm_70, which kernelwright has no limits for"):
        BACKEND.target_of(device="NVIDIA V100", capability=70, multiprocessors=80, l2_bytes=6 << 20)


def test_kernels_are_compiled_for_a_known_target_where_there_is_no_gpu() -> None:
    assert find_target(BACKEND.default_target).name == BACKEND.default_target
