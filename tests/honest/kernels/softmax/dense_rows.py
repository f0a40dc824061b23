"""Rows taken to be dense, as most published kernels take them: it serves dense inputs only."""

import torch
import triton
import triton.language as tl


@triton.jit
def dense_softmax(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + lanes, mask=lanes < columns, other=float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + lanes, e / tl.sum(e, axis=0), mask=lanes < columns)


def kernel_function(x):
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    dense_softmax[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return out
