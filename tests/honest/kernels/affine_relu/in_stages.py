"""Several kernels in one call, with half of the work in single-precision scratch, under torch.no_grad."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fold(bias_ptr, shift_ptr, offset_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bias = tl.load(bias_ptr + i, mask=i < n).to(tl.float32)
    shift = tl.load(shift_ptr + i, mask=i < n).to(tl.float32)
    tl.store(offset_ptr + i, bias - shift, mask=i < n)


@triton.jit
def scale(x_ptr, w_ptr, scaled_ptr, n, features, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
    w = tl.load(w_ptr + i % features, mask=i < n).to(tl.float32)
    tl.store(scaled_ptr + i, x * w, mask=i < n)


@triton.jit
def finish(scaled_ptr, offset_ptr, out_ptr, n, features, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(scaled_ptr + i, mask=i < n) + tl.load(offset_ptr + i % features, mask=i < n)
    tl.store(out_ptr + i, tl.maximum(value, 0), mask=i < n)


class ModelNew(nn.Module):
    BLOCK = 128

    def __init__(self, features):
        super(ModelNew, self).__init__()  # noqa: UP008 - an older style, as honest
        self.weight = nn.Parameter(torch.empty(features))
        nn.init.uniform_(self.weight)
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("shift", torch.zeros(features), persistent=True)

    @torch.no_grad()
    def forward(self, x):
        x = x.contiguous()
        n, features = x.numel(), x.size(-1)
        offset = torch.empty(features, device=x.device, dtype=torch.float32)
        scaled = x.new_empty(x.shape, dtype=torch.float32)
        out = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)  # noqa: E731 - how Triton code is written
        fold[(triton.cdiv(features, self.BLOCK),)](self.bias, self.shift, offset, features, BLOCK=self.BLOCK)
        scale[grid](x, self.weight, scaled, n, features, BLOCK=self.BLOCK)
        finish[grid](scaled, offset, out, n, features, BLOCK=self.BLOCK)
        return out
