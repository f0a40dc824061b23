"""Which GPU NVML is asked about, and what it reads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernelwright.model import Clocks
from kernelwright.worker.clock import nvml
from kernelwright.worker.processes.probe import driver_version


def driver(uuids: Sequence[str], reasons: Callable[[str], int] = lambda gpu: 0) -> Any:
    """NVML of a machine with these GPUs, in the order of its own numbers."""

    def handle(uuid: str) -> str:
        if uuid not in uuids:
            raise RuntimeError("not found")
        return uuid

    return SimpleNamespace(
        NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2, NVML_TEMPERATURE_GPU=0, NVMLError=RuntimeError, nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=uuids.__getitem__, nvmlDeviceGetHandleByUUID=handle,
        nvmlDeviceGetPowerUsage=lambda gpu: 690_000,
        nvmlDeviceGetClockInfo=lambda gpu, which: {1: 1500, 2: 3201}[which],
        nvmlDeviceGetTemperature=lambda gpu, which: 80, nvmlDeviceGetCurrentClocksThrottleReasons=reasons,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _is_the_only_gpu_that_cuda_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: SimpleNamespace(uuid="b"))
    monkeypatch.setattr(nvml, "device", nvml.device.__wrapped__)


def test_the_gpu_that_torch_uses_is_read_whatever_its_number_is_without_cuda_visible_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slowed = {"GPU-a": 0x40, "GPU-b": 0x4}
    monkeypatch.setattr(nvml, "pynvml", driver(("GPU-a", "GPU-b"), slowed.__getitem__))
    assert nvml.device() == "GPU-b"
    assert nvml.observe(nvml.device()) == Clocks(
        sm_mhz=1500, memory_mhz=3201, temperature_c=80, power_w=690.0, throttle=("power_cap",)
    )


def test_nothing_is_read_without_nvml_or_where_it_does_not_know_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for none in (None, driver(("GPU-a",))):
        monkeypatch.setattr(nvml, "pynvml", none)
        assert nvml.device() is None
        assert nvml.observe(nvml.device()) is None


def test_a_container_without_nvml_has_no_driver_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RuntimeError("NVML Shared Library Not Found")

    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace(nvmlInit=missing, NVMLError=RuntimeError))
    assert driver_version() is None
