"""Rotary position embedding of queries and keys in place, each head as two halves."""

import torch
import torch.nn as nn

MUTATES = ("q", "k")

CASES = [
    dict(name="8192x32", tokens=8192, heads=32, kv_heads=8, size=128, dtype="float16"),
    dict(name="1000x12", tokens=1000, heads=12, kv_heads=3, size=96, dtype="float16", held_out=True),
    dict(name="ragged", tokens=5, heads=4, kv_heads=2, size=24, dtype="float32", small=True),
]


class Model(nn.Module):
    def forward(self, q, k, cos, sin):
        for x in (q, k):
            first, second = x.chunk(2, dim=-1)
            x.copy_(torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1))
        return q, k


def get_inputs(tokens=8192, heads=32, kv_heads=8, size=128):
    angles = 100 * torch.rand(tokens, 1, size // 2)
    return [torch.randn(tokens, heads, size), torch.randn(tokens, kv_heads, size), angles.cos(), angles.sin()]


def get_init_inputs():
    return []
