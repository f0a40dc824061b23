"""a partial sum for each program, finished by the framework's sum"""

import torch
import triton
import triton.language as tl


@triton.jit
def squared_error_kernel(x_ptr, y_ptr, partial_ptr, n_elements, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    tl.store(partial_ptr + block, tl.sum((x - y) * (x - y), axis=0))


def kernel_function(x, y):
    x, y = x.contiguous(), y.contiguous()
    blocks = triton.cdiv(x.numel(), 256)
    partial = torch.empty(blocks, dtype=torch.float32, device=x.device)
    squared_error_kernel[(blocks,)](x, y, partial, x.numel(), BLOCK=256)
    return (partial.sum() / x.numel()).to(x.dtype)
