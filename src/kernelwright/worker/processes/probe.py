"""The probe: a child that describes the GPU and the software of this machine, then ends. The query initialises CUDA."""

from __future__ import annotations

import sys

import torch

from kernelwright.worker.processes.channel import Channel
from kernelwright.worker.processes.commands import Options, Probed


def main(channel: Channel, options: Options) -> None:
    channel.send(describe())


def describe() -> Probed:
    python, version = sys.version.split()[0], str(torch.__version__)
    if not torch.cuda.is_available():
        return Probed(python=python, torch=version, why_not="torch finds no CUDA device")
    properties = torch.cuda.get_device_properties(0)
    return Probed(
        python=python, torch=version, device=properties.name, driver=driver_version(),
        capability=properties.major * 10 + properties.minor, memory_bytes=properties.total_memory,
        l2_bytes=properties.L2_cache_size, multiprocessors=properties.multi_processor_count,
        uuid=str(getattr(properties, "uuid", properties.name)).replace(" ", "-"),
    )  # fmt: skip


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
