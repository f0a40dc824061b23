"""Host code transposes by a view and copies, the kernel doubles in place."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(y_ptr, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(y_ptr + i, mask=i < count), mask=i < count)


def kernel_function(x):
    y = x.t().clone(memory_format=torch.contiguous_format)
    double[(triton.cdiv(y.numel(), 128),)](y, y.numel(), BLOCK=128)
    return y
