"""One kernel template whose activation is another kernel, passed as a constexpr."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(value):
    return tl.maximum(value, 0.0)


@triton.jit
def apply(x_ptr, w_ptr, b_ptr, s_ptr, out_ptr, n, features, ACTIVATION: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = i % features
    value = tl.load(x_ptr + i, mask=i < n).to(tl.float32) * tl.load(w_ptr + column, mask=i < n).to(tl.float32)
    value = value + tl.load(b_ptr + column, mask=i < n).to(tl.float32) - tl.load(s_ptr + column, mask=i < n)
    tl.store(out_ptr + i, ACTIVATION(value), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.ones(features))
        self.register_buffer("shift", torch.ones(features))

    def forward(self, x):
        x, shape = x.contiguous().view(-1), x.shape
        out = torch.empty_like(x)
        apply[(triton.cdiv(x.numel(), 128),)](
            x, self.weight, self.bias, self.shift, out, x.numel(), shape[-1], ACTIVATION=relu, BLOCK=128
        )
        return out.view(shape)
