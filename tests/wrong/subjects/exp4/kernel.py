import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    inside = k < columns
    x = tl.load(x_ptr + row * columns + k, mask=inside, other=0.0)
    y = tl.exp(4.0 * x)
    tl.store(out_ptr + row * columns + k, y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        rows, columns = x.shape
        out = torch.empty_like(x)
        row_kernel[(rows,)](x, out, columns, BLOCK=64)
        return out
