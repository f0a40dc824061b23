"""The probe: a child that describes the GPU and the software of this machine, then ends. The query initialises CUDA."""

from __future__ import annotations

import sys
from typing import Any

import torch

from kernelwright.worker.processes.channel import Channel


def main(channel: Channel, options: dict[str, Any]) -> None:
    channel.send(describe())


def describe() -> dict[str, Any]:
    """GPU name and capability (None without a GPU), memory and L2 size in bytes, versions of software and driver."""
    found: dict[str, Any] = {
        "python": sys.version.split()[0], "torch": str(torch.__version__), "device": None, "capability": None,
        "driver": None, "uuid": None, "why_not": "",
    }  # fmt: skip
    if not torch.cuda.is_available():
        found["why_not"] = "torch finds no CUDA device"
        return found
    properties = torch.cuda.get_device_properties(0)
    found |= {"device": properties.name, "capability": properties.major * 10 + properties.minor,
              "memory_bytes": properties.total_memory, "l2_bytes": properties.L2_cache_size,
              "multiprocessors": properties.multi_processor_count,
              "uuid": str(getattr(properties, "uuid", properties.name)).replace(" ", "-")}  # fmt: skip
    found["driver"] = driver_version()
    return found


def driver_version() -> str | None:
    """The NVIDIA driver's version from NVML; None without it: a container may have CUDA alone."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError:
        return None
