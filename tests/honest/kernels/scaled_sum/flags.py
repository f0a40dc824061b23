"""Whether there is a third tensor is a constexpr flag, and another tensor stands in for it; keyword arguments only."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_sum(x, y, z, out, alpha: float, n: int, HAS_Z: tl.constexpr, BLOCK: tl.constexpr = 128):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n) * alpha
    total += tl.load(y + i, mask=i < n)
    if HAS_Z:
        total += tl.load(z + i, mask=i < n)
    tl.store(out + i, total, mask=i < n)


def kernel_function(x, y, *, alpha, z=None):
    assert x.shape == y.shape, f"{tuple(x.shape)} and {tuple(y.shape)} differ"
    x = x.contiguous()
    y = y.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    scaled_sum[(triton.cdiv(n, 128),)](
        x=x, y=y, z=x if z is None else z, out=out, alpha=alpha, n=n, HAS_Z=z is not None
    )
    return out
