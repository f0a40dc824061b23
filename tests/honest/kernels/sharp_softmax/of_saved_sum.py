"""The first kernel saves the logarithm of each row's sum, as for a backward; the second subtracts it."""

import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(x_ptr, saved_ptr, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * columns + lanes, mask=lanes < columns, other=-float("inf"))
    largest = tl.max(x, axis=0)
    tl.store(saved_ptr + tl.program_id(0), largest + tl.log(tl.sum(tl.exp(x - largest), axis=0)))


@triton.jit
def shares_kernel(x_ptr, saved_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + lanes
    x = tl.load(x_ptr + at, mask=lanes < columns, other=-float("inf"))
    tl.store(out_ptr + at, tl.exp(x - tl.load(saved_ptr + tl.program_id(0))), mask=lanes < columns)


def kernel_function(x):
    x = x.contiguous()
    rows, columns = x.shape
    saved = torch.empty(rows, dtype=torch.float32, device=x.device)
    out = torch.empty_like(x)
    sums_kernel[(rows,)](x, saved, columns, BLOCK=triton.next_power_of_2(columns))
    shares_kernel[(rows,)](x, saved, out, columns, BLOCK=triton.next_power_of_2(columns))
    return out
