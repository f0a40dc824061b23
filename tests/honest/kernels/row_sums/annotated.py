"""Sizes and strides annotated as 64-bit integers, and pointers that are not given: the kernel is made by a call."""

import torch
import triton
import triton.language as tl


def row_sums_wide(x_ptr, bias_ptr, out_ptr, stride: tl.int64, columns: tl.int64, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * stride + lanes, mask=lanes < columns, other=0.0).to(tl.float32))
    if bias_ptr is not None:
        total += tl.load(bias_ptr)
    tl.store(out_ptr + row, total)


row_sums_wide = triton.jit(row_sums_wide)


def kernel_function(x):
    assert x.stride(-1) == 1
    out = torch.empty(x.shape[:1], dtype=x.dtype, device=x.device)
    row_sums_wide[(x.shape[0],)](x, None, out, x.stride(0), x.shape[1], BLOCK=128)
    return out
