"""The arena: one block of memory that a judge and a bench share, with all buffers of a plan.

On a GPU it is a device allocation that is passed by CUDA IPC, otherwise an anonymous file in memory that the supervisor
creates. The judge writes inputs and reads outputs through its own mapping. Kernels can reach no other memory of the
judge.
"""

from __future__ import annotations

import base64
import pickle

import torch
from torch.multiprocessing.reductions import reduce_tensor

from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.plan import View
from kernelwright.worker.processes.memory import ArenaHandle


def window(arena: torch.Tensor, layout: Layout, view: View) -> torch.Tensor:
    """The tensor that `view` describes. arena: (nbytes,) uint8."""
    dtype = getattr(torch, view.dtype)
    start, size = layout.offsets[view.buffer], layout.sizes[view.buffer]
    flat = arena[start : start + size - size % dtype.itemsize].view(dtype)
    return flat.as_strided(view.shape, view.stride, flat.storage_offset() + view.offset)


def create(nbytes: int, device: str) -> tuple[torch.Tensor, ArenaHandle]:
    """A new arena on a GPU and the handle by which another process opens it; raises torch.OutOfMemoryError."""
    arena = torch.empty(nbytes, dtype=torch.uint8, device=device)
    return arena, ArenaHandle(nbytes=nbytes, cuda=base64.b64encode(pickle.dumps(reduce_tensor(arena))).decode())


def attach(handle: ArenaHandle) -> torch.Tensor:
    """The arena behind a handle of `create` or of `memory.SharedMemory`."""
    if handle.file:
        return torch.from_file(handle.file, shared=True, size=handle.nbytes, dtype=torch.uint8)
    rebuild, arguments = pickle.loads(base64.b64decode(handle.cuda))
    tensor: torch.Tensor = rebuild(*arguments)
    return tensor
