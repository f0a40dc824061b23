"""What NVML reads of the GPU that torch uses: clocks, temperature, power, and why a clock is lowered."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

try:
    import pynvml
except ImportError:  # an optional dependency; then nothing is read
    pynvml = None

from kernelwright.model import Clocks

THROTTLE = {0x2: "application_clocks", 0x4: "power_cap", 0x8: "hardware_slowdown", 0x20: "software_thermal",
            0x40: "hardware_thermal", 0x80: "power_brake"}  # fmt: skip
"""Names of NVML's clocksThrottleReasons bits (nvml.h), without idle."""


@cache
def device() -> Any:
    """NVML's handle of the GPU that torch uses; None without NVML. NVML numbers all GPUs of the machine, CUDA those in
    CUDA_VISIBLE_DEVICES, so the GPU is named by its UUID."""
    if pynvml is None:
        return None
    uuid = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", "")
    try:
        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
    except pynvml.NVMLError:
        return None


def observe(gpu: Any) -> Clocks | None:
    """Clocks, temperature, power and throttle reasons as NVML reads them now; None without NVML. gpu: NVML's handle."""
    if gpu is None:
        return None
    try:
        mask = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
        return Clocks(
            sm_mhz=pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
            memory_mhz=pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_MEM),
            temperature_c=pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
            power_w=pynvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
            throttle=tuple(name for bit, name in THROTTLE.items() if mask & bit),
        )
    except pynvml.NVMLError:
        return None
