"""Quantises one token per program."""

import torch
import triton
import triton.language as tl


@triton.jit
def round_to_integer(x):
    below = tl.floor(x)
    rest = x - below
    odd = below - 2 * tl.floor(below / 2)
    return tl.where((rest > 0.5) | ((rest == 0.5) & (odd > 0)), below + 1, below)


@triton.jit
def quantise_kernel(x_ptr, scale_ptr, out_ptr, channels, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * channels
    for start in range(0, channels, BLOCK):
        channel = start + tl.arange(0, BLOCK)
        inside = channel < channels
        x = tl.load(x_ptr + row + channel, mask=inside, other=0.0).to(tl.float32)
        scale = tl.load(scale_ptr + channel, mask=inside, other=1.0).to(tl.float32)
        code = tl.minimum(tl.maximum(round_to_integer(x / scale), -128.0), 127.0)
        tl.store(out_ptr + row + channel, code.to(tl.int8), mask=inside)


def kernel_function(x, scale):
    x, scale = x.contiguous(), scale.contiguous()
    out = torch.empty(x.shape, dtype=torch.int8, device=x.device)
    quantise_kernel[(x.shape[0],)](x, scale, out, x.shape[1], BLOCK=1024)
    return out
