import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_kernel(x_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    inside = k < columns
    x = tl.load(x_ptr + row * columns + k, mask=inside, other=0.0)
    mean = tl.load(mean_ptr + k, mask=inside, other=0.0)
    var = tl.load(var_ptr + k, mask=inside, other=0.0)
    weight = tl.load(weight_ptr + k, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + k, mask=inside, other=0.0)
    d = x - mean
    y = d * tl.rsqrt(var + 1e-5) * weight + bias
    tl.store(out_ptr + row * columns + k, y, mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(40)

    def forward(self, x):
        x = x.contiguous()
        rows, columns = x.shape
        out = torch.empty_like(x)
        row_kernel[(rows,)](
            x, self.norm.running_mean, self.norm.running_var, self.norm.weight, self.norm.bias, out, columns, BLOCK=64
        )
        return out
