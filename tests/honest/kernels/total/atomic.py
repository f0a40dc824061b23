"""Atomics into one zeroed element, made by new_zeros and returned without its dimension."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_up(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), axis=0))


def kernel_function(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    n = x.numel()
    out = x.new_zeros(1)
    add_up[(triton.cdiv(n, 512),)](x, out, n, BLOCK=512)
    return out.squeeze(0)
