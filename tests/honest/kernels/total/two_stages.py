"""A two-stage reduction: partial sums into scratch, then one program over them."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_sums(x_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial_ptr + pid, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), axis=0))


@triton.jit
def sum_partials(partial_ptr, out_ptr, count, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, count, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(partial_ptr + i, mask=i < count, other=0.0)
    tl.store(out_ptr, tl.sum(acc, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        flat = x.reshape(-1)
        n = flat.numel()
        count = triton.cdiv(n, 256)
        partial = torch.empty(count, dtype=torch.float32, device=x.device)
        out = torch.empty((), dtype=x.dtype, device=x.device)
        partial_sums[(count,)](flat, partial, n, BLOCK=256)
        sum_partials[(1,)](partial, out, count, BLOCK=128)
        return out
