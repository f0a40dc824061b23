import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, w_ptr, b_ptr, out_ptr, K: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    n = tl.arange(0, N)
    x = tl.load(x_ptr + row * K + k)
    w = tl.load(w_ptr + n[:, None] * K + k[None, :])
    b = tl.load(b_ptr + n)
    y = tl.sum(w * x[None, :], axis=1) + b
    tl.store(out_ptr + row * N + n, y)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 16)

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty((x.shape[0], 16), dtype=x.dtype, device=x.device)
        linear_kernel[(x.shape[0],)](x, self.linear.weight, self.linear.bias, out, K=32, N=16)
        return out
