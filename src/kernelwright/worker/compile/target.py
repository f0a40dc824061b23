"""Stub of Triton's driver object, with which Triton compiles for a named GPU on a machine without one."""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import GPUTarget

from kernelwright.devices import Target
from kernelwright.devices.backend import BACKEND


class StubDriver:
    """Driver object that describes the target to Triton. Nothing can be launched through it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.utils = self

    def get_current_target(self) -> GPUTarget:
        return GPUTarget(BACKEND.name, self.target.capability, BACKEND.warp_threads)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        return divmod(self.target.capability, 10)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device(BACKEND.name, 0)

    def get_device_properties(self, device: int | None = None) -> dict[str, int]:
        return {
            "max_shared_mem": self.target.shared_bytes_per_block,
            "multiprocessor_count": self.target.multiprocessors,
            "max_num_regs": self.target.registers_per_multiprocessor,
            "warpSize": BACKEND.warp_threads,
        }


def install(target: Target) -> None:
    """Make Triton compile for `target` in this process."""
    from triton.runtime.driver import driver

    driver.set_active(StubDriver(target))
