"""A 3-D grid, one dimension of it the batch."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bmm(a_ptr, b_ptr, c_ptr, size, stride_batch, BLOCK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64) * stride_batch
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, size, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + batch + m * size + k[None, :], mask=(m < size) & (k[None, :] < size), other=0.0)
        b = tl.load(b_ptr + batch + k[:, None] * size + n, mask=(k[:, None] < size) & (n < size), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + batch + m * size + n, acc, mask=(m < size) & (n < size))


class ModelNew(nn.Module):
    def forward(self, a, b):
        if a.shape != b.shape:
            raise ValueError(f"shapes differ: {tuple(a.shape)} and {tuple(b.shape)}")
        a, b = (t.contiguous() for t in (a, b))
        batch, size, _ = a.shape
        c = torch.empty_like(a)
        tiles = triton.cdiv(size, 16)
        bmm[(tiles, tiles, batch)](a, b, c, size, a.stride(0), BLOCK=16)
        return c
