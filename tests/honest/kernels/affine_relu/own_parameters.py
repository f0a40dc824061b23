"""A module with its own parameters and a buffer, named as the reference's."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def affine_relu(x_ptr, w_ptr, b_ptr, s_ptr, out_ptr, features, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < features
    x = tl.load(x_ptr + row * features + columns, mask=inside).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=inside).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=inside).to(tl.float32)
    s = tl.load(s_ptr + columns, mask=inside).to(tl.float32)
    tl.store(out_ptr + row * features + columns, tl.maximum(x * w + b - s, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.weight = nn.Parameter(torch.randn(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("shift", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.shape[-1] == self.features, f"{self.features} features expected, got {x.shape[-1]}"
        x = x.contiguous()
        out = torch.empty_like(x)
        BLOCK = triton.next_power_of_2(self.features)
        affine_relu[(x.shape[0],)](x, self.weight, self.bias, self.shift, out, self.features, BLOCK=BLOCK)
        return out
