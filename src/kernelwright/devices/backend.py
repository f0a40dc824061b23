"""Everything that differs between GPU vendors. CUDA is the only one."""

from __future__ import annotations

import msgspec

from kernelwright.devices import TARGETS, WARP_THREADS, Target
from kernelwright.errors import MachineError


class Cuda:
    """name: as in Triton and torch. default_target: compile target on a machine without a GPU."""

    name = "cuda"
    default_target = "sm_90"
    warp_threads = WARP_THREADS
    max_block_threads = 1024
    """CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability": the same for all targets."""

    def target_of(self, device: str, capability: int, multiprocessors: int, l2_bytes: int) -> Target:
        """The target of a GPU. Raises `MachineError` if its limits are not known.

        capability: such as 90. multiprocessors, l2_bytes: of this GPU; they replace those of the architecture's entry.
        """
        name = f"sm_{capability}"
        known = TARGETS.get(name)
        if known is None:
            raise MachineError(f"{device} is {name}, which kernelwright has no limits for",
                               f"known: {', '.join(TARGETS)}; add an entry to kernelwright/devices")  # fmt: skip
        return msgspec.structs.replace(known, device=device, multiprocessors=multiprocessors, l2_bytes=l2_bytes)


BACKEND = Cuda()
