"""A number and None passed to the kernel as they come; the kernel asks for None itself."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled_sum(x_ptr, y_ptr, z_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out = alpha * tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i, mask=i < n)
    if z_ptr is not None:
        out += tl.load(z_ptr + i, mask=i < n)
    tl.store(out_ptr + i, out, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, y, alpha, z=None):
        x, y = x.contiguous(), y.contiguous()
        z = None if z is None else z.contiguous()
        out = torch.empty_like(x)
        scaled_sum[(triton.cdiv(x.numel(), 256),)](x, y, z, out, alpha, x.numel(), BLOCK=256)
        return out
