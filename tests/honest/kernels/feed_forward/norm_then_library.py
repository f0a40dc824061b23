"""an own RMSNorm, F.linear, and an own GELU"""

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / columns + 1e-6)
    weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + row * columns + offsets, x * scale * weight, mask=inside)


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n_elements, other=0.0).to(tl.float32)
    y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(out_ptr + offsets, y, mask=offsets < n_elements)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(48))
        self.linear = nn.Linear(48, 40)

    def forward(self, x):
        x = x.contiguous()
        normed = torch.empty_like(x)
        rms_norm_kernel[(x.shape[0],)](x, self.weight, normed, x.stride(0), 48, BLOCK=64)
        product = F.linear(normed, self.linear.weight, self.linear.bias)
        out = torch.empty_like(product)
        gelu_kernel[(triton.cdiv(out.numel(), 128),)](product, out, out.numel(), BLOCK=128)
        return out
