"""Rotary embedding of queries and keys, whose halves are pairs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """q: (batch, heads, tokens, dim); k: (batch, key_heads, tokens, dim); cos, sin: (tokens, dim / 2)."""

    def rotate(self, x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)

    def forward(self, q, k, cos, sin):
        return self.rotate(q, cos, sin), self.rotate(k, cos, sin)


CASES = [
    dict(name="4096_bf16", dtype="bfloat16", batch=4, heads=32, key_heads=8, tokens=4096, dim=128),
    dict(name="1001_fp32", dtype="float32", held_out=True, batch=2, heads=12, key_heads=12, tokens=1001, dim=64),
    dict(name="small_fp32", dtype="float32", small=True, batch=1, heads=3, key_heads=1, tokens=5, dim=16),
]


def get_inputs(batch=4, heads=32, key_heads=8, tokens=4096, dim=128):
    angle = torch.rand(tokens, dim // 2) * 6.2831853
    return [
        torch.randn(batch, heads, tokens, dim),
        torch.randn(batch, key_heads, tokens, dim),
        angle.cos(),
        angle.sin(),
    ]


def get_init_inputs():
    return []
