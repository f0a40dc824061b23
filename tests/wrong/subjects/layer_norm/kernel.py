import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    inside = k < columns
    x = tl.load(x_ptr + row * columns + k, mask=inside, other=0.0)
    weight = tl.load(weight_ptr + k, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + k, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    d = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(d * d, axis=0) / columns
    y = d * tl.rsqrt(variance + 1e-5) * weight + bias
    tl.store(out_ptr + row * columns + k, y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(40)

    def forward(self, x):
        x = x.contiguous()
        rows, columns = x.shape
        out = torch.empty_like(x)
        row_kernel[(rows,)](x, self.norm.weight, self.norm.bias, out, columns, BLOCK=64)
        return out
