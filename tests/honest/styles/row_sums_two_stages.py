# problem: row_sums
# style: partial sums in scratch, then a second kernel; tl.reduce with a combine function of its own

import torch
import triton
import triton.language as tl


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def partial_sums(x_ptr, p_ptr, cols, BLOCK: tl.constexpr):
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * cols + c, mask=c < cols, other=0.0)
    tl.store(p_ptr + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), tl.reduce(x, 0, plus))


@triton.jit
def total(p_ptr, y_ptr, pieces, PIECES: tl.constexpr):
    i = tl.arange(0, PIECES)
    p = tl.load(p_ptr + tl.program_id(0) * pieces + i, mask=i < pieces, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.reduce(p, 0, plus))


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    pieces = triton.cdiv(cols, 64)
    partial = torch.empty((rows, pieces), device=x.device)
    y = torch.empty((rows,), device=x.device, dtype=x.dtype)
    partial_sums[(rows, pieces)](x, partial, cols, BLOCK=64)
    total[(rows,)](partial, y, pieces, PIECES=triton.next_power_of_2(pieces))
    return y
