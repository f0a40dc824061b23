"""The memory that a judge and a bench share, and where each buffer of a plan lies in it.

One block of bytes: on a GPU a device allocation passed by CUDA IPC, otherwise a file that both map. The judge
writes inputs and reads outputs through its own mapping; the bench's kernels can reach nothing else of the judge's.
"""

from __future__ import annotations

import base64
import pickle
import uuid
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.reductions import reduce_tensor

from kernelwright.worker.layout import Layout
from kernelwright.worker.plan import View


def window(arena: torch.Tensor, layout: Layout, view: View) -> torch.Tensor:
    """The tensor that `view` names. arena: (nbytes,) uint8."""
    dtype = getattr(torch, view.dtype)
    start, size = layout.offsets[view.buffer], layout.sizes[view.buffer]
    flat = arena[start : start + size - size % dtype.itemsize].view(dtype)
    return flat.as_strided(view.shape, view.stride, flat.storage_offset() + view.offset)


def create(nbytes: int, device: str) -> tuple[torch.Tensor, dict[str, Any]]:
    """A new arena and the handle by which another process opens it; raises torch.OutOfMemoryError.

    The file lies in the worker's scratch folder, where its processes work, and goes with it: a bench that is killed
    removes nothing, so in /dev/shm every one would stay until the machine is started anew.
    """
    if device == "cpu":
        path = Path.cwd() / f"arena-{uuid.uuid4().hex}"
        arena = torch.from_file(str(path), shared=True, size=nbytes, dtype=torch.uint8)
        return arena, {"file": str(path), "nbytes": nbytes}
    arena = torch.empty(nbytes, dtype=torch.uint8, device=device)
    return arena, {"cuda": base64.b64encode(pickle.dumps(reduce_tensor(arena))).decode(), "nbytes": nbytes}


def attach(handle: dict[str, Any]) -> torch.Tensor:
    """The arena behind a handle made by `create` in a process of ours."""
    if "file" in handle:
        return torch.from_file(handle["file"], shared=True, size=handle["nbytes"], dtype=torch.uint8)
    rebuild, arguments = pickle.loads(base64.b64decode(handle["cuda"]))
    tensor: torch.Tensor = rebuild(*arguments)
    return tensor


def release(handle: dict[str, Any]) -> None:
    """Remove an arena's name once nobody needs to open it any more; mappings stay valid."""
    if "file" in handle:
        Path(handle["file"]).unlink(missing_ok=True)
