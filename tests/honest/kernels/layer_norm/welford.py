"""Welford's combination of means and squared deviations in tl.reduce, chunk by chunk."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def combine(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    delta = mean_b - mean_a
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def layer_norm_welford(x_ptr, w_ptr, b_ptr, out_ptr, features, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = 0.0
    m2 = 0.0
    count = 0.0
    for start in range(0, features, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < features
        x = tl.load(x_ptr + row * features + column, mask=inside, other=0.0)
        ones = inside.to(tl.float32)
        part_mean, part_m2, part_count = tl.reduce((x, tl.zeros_like(x), ones), 0, combine)
        mean, m2, count = combine(mean, m2, count, part_mean, part_m2, part_count)
    scale = tl.rsqrt(m2 / count + eps)
    for start in range(0, features, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < features
        x = tl.load(x_ptr + row * features + column, mask=inside)
        w = tl.load(w_ptr + column, mask=inside)
        b = tl.load(b_ptr + column, mask=inside)
        tl.store(out_ptr + row * features + column, (x - mean) * scale * w + b, mask=inside)


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        layer_norm_welford[(x.shape[0],)](x, self.weight, self.bias, out, x.shape[1], self.eps, BLOCK=64)
        return out


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = LayerNorm(features)

    def forward(self, x):
        return self.norm(x)
