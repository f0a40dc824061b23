"""A row at once, for any row stride: no copy of inputs that are not contiguous along rows."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_row(out_ptr, x_ptr, x_row_stride, x_column_stride, out_row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * x_row_stride + column * x_column_stride, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_row_stride + column, numerator / tl.sum(numerator, axis=0), mask=mask)


class ModelNew(nn.Module):
    """Softmax over the last dimension."""

    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        BLOCK = triton.next_power_of_2(columns)
        num_warps = 4 if BLOCK < 2048 else 8
        softmax_row[(rows,)](out, x, x.stride(0), x.stride(1), out.stride(0), columns, BLOCK=BLOCK, num_warps=num_warps)
        return out
