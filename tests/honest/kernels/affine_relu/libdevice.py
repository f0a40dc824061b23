"""A function of libdevice, which the CPU interpreter computes in float64."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def affine_relu(x_ptr, w_ptr, b_ptr, s_ptr, out_ptr, n, features, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    column = i % features
    x = tl.load(x_ptr + i, mask=inside).to(tl.float32)
    w = tl.load(w_ptr + column, mask=inside).to(tl.float32)
    b = tl.load(b_ptr + column, mask=inside).to(tl.float32)
    s = tl.load(s_ptr + column, mask=inside).to(tl.float32)
    tl.store(out_ptr + i, tl.maximum(libdevice.fma_rn(x, w, b) - s, 0.0), mask=inside)


def kernel_function(x, weight, bias, shift):
    x = x.contiguous()
    out = torch.empty_like(x)
    affine_relu[(triton.cdiv(x.numel(), 128),)](x, weight, bias, shift, out, x.numel(), x.shape[1], BLOCK=128)
    return out
