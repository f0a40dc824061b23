"""cuBLAS for the product, and everything after it fused into one kernel"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, weight_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0)
    tl.store(
        out_ptr + row * columns + offsets, x / tl.sqrt(tl.sum(x * x, axis=0) / columns + 1e-6) * weight, mask=inside
    )


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, n_elements, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    x += tl.load(bias_ptr + offsets % columns, mask=inside, other=0.0)
    tl.store(x_ptr + offsets, 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476)), mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(48))
        self.linear = nn.Linear(48, 40)

    def forward(self, x):
        x = x.contiguous()
        normed = torch.empty_like(x)
        scale_kernel[(x.shape[0],)](x, self.weight, normed, 48, BLOCK=64)
        product = torch.matmul(normed, self.linear.weight.t())
        n = product.numel()
        bias_gelu_kernel[(triton.cdiv(n, 128),)](product, self.linear.bias, n, 40, BLOCK=128)
        return product
