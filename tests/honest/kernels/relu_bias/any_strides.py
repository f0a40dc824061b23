"""A grid of two dimensions, strides as arguments, tl.where; any layout is read as it lies."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_bias(x_ptr, b_ptr, y_ptr, rows, cols, sxr, sxc, syr, syc, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(0) * COLS + tl.arange(0, COLS)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * sxr + c * sxc, mask=inside, other=0.0)
    y = tl.where(x > 0, x, 0.0) + tl.load(b_ptr + c, mask=c < cols, other=0.0)
    y = tl.where(x == x, y, x)
    tl.store(y_ptr + r * syr + c * syc, y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(cols))

    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty((rows, cols))
        grid = (triton.cdiv(cols, 32), triton.cdiv(rows, 4))
        relu_bias[grid](x, self.bias, y, rows, cols, *x.stride(), *y.stride(), ROWS=4, COLS=32)
        return y
