"""A product with the reciprocal of the scale."""

import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + lanes
    x = tl.load(x_ptr + at, mask=lanes < columns, other=0.0)
    made = x * (1 / (tl.max(tl.abs(x), axis=0) / 127))
    down = tl.floor(made)
    apart = made - down
    is_up = (apart > 0.5) | ((apart == 0.5) & (down - 2 * tl.floor(down / 2) == 1))
    tl.store(out_ptr + at, tl.where(is_up, down + 1, down).to(tl.int32).to(tl.int8), mask=lanes < columns)


def kernel_function(x):
    x = x.contiguous()
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=torch.int8, device=x.device)
    rows_kernel[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return out
