"""A fake GPU of a target for torch, in this process and until it ends: enough to generate code, but not to run it.

CUDA is never initialised. Torch's functions for device properties return the target's figures; a launch is an error.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import torch._dynamo.device_interface as interfaces
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from kernelwright.devices import WARP_THREADS, Target
from kernelwright.worker.compile.target import install

MEMORY_BYTES = 80 << 30
"""The fake device's memory. Torch needs a value, but Inductor does not plan by it."""

THREADS_PER_BLOCK = 1024
"""The same for every target: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability"."""


def pretend(target: Target) -> None:
    """Replace torch's functions for device 0, so that they return the properties of `target`."""
    major, minor = divmod(target.capability, 10)
    properties = SimpleNamespace(
        name=target.device, major=major, minor=minor, multi_processor_count=target.multiprocessors,
        regs_per_multiprocessor=target.registers_per_multiprocessor,
        max_threads_per_multi_processor=target.warps_per_multiprocessor * WARP_THREADS,
        max_threads_per_block=THREADS_PER_BLOCK, warp_size=WARP_THREADS, total_memory=MEMORY_BYTES,
        shared_memory_per_block=48 << 10, shared_memory_per_block_optin=target.shared_bytes_per_block,
        shared_memory_per_multiprocessor=target.shared_bytes_per_multiprocessor, L2_cache_size=target.l2_bytes,
        gcnArchName="",
    )  # fmt: skip
    state = torch.zeros(16, dtype=torch.uint8)
    of_both: dict[str, Any] = {
        "is_available": True, "device_count": 1, "current_device": 0, "get_device_properties": properties,
        "synchronize": None,
    }  # fmt: skip
    of_cuda = of_both | {
        "get_device_capability": (major, minor), "_lazy_init": None, "is_bf16_supported": True,
        "get_rng_state": state, "set_rng_state": None, "_exchange_device": 0, "_maybe_exchange_device": 0,
    }  # fmt: skip
    of_interface = of_both | {
        "get_compute_capability": target.capability, "is_triton_capable": True, "raise_if_triton_unavailable": None,
        "exchange_device": 0, "maybe_exchange_device": 0, "set_device": None,
    }  # fmt: skip
    for name, value in of_cuda.items():
        setattr(torch.cuda, name, _answering(value))
    for name, value in of_interface.items():
        setattr(interfaces.CudaInterface, name, staticmethod(_answering(value)))
    interfaces.caching_worker_current_devices["cuda"] = 0
    interfaces.caching_worker_device_properties["cuda"] = [properties]
    fake_tensor.init_gpu_context = _answering(None)
    FakeTensorMode.avoid_device_init = property(_answering(True))  # type: ignore[assignment]
    torch.Tensor.contiguous = _contiguous  # type: ignore[assignment, method-assign]
    torch.version.cuda = torch.version.cuda or "13.0"
    install(target)


def _answering(value: Any) -> Any:
    return lambda *args, **kwargs: value


def _contiguous(x: torch.Tensor, memory_format: torch.memory_format = torch.contiguous_format) -> torch.Tensor:
    """`x.contiguous()`; torch's own selects the device, which torch without CUDA cannot."""
    return x if x.is_contiguous(memory_format=memory_format) else x.clone(memory_format=memory_format)
