"""A launch within a device guard of the file's own, under `try` with the framework as its fallback."""

from contextlib import contextmanager

import torch
import triton
import triton.language as tl

BLOCKS = [64, 128, 256] if torch.version.hip else [128, 256]


@contextmanager
def on(device):
    backend = getattr(torch, device.type, None)
    if backend is not None and hasattr(backend, "device"):
        with backend.device(device):
            yield
    else:
        yield


@triton.jit
def softmax_rows(out_ptr, x_ptr, stride_x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_x + lanes, mask=lanes < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + lanes, e / tl.sum(e, axis=0), mask=lanes < columns)


def kernel_function(x: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    block = min(size for size in BLOCKS if size >= columns)
    try:
        with on(x.device):
            softmax_rows[(rows,)](out, x, x.stride(0), columns, BLOCK=block)
    except triton.OutOfResources as error:
        print(f"out of resources: {error}")
        return torch.softmax(x, dim=-1)
    return out
