"""Rotary embedding of queries and keys, in place."""

import torch
import torch.nn as nn

tokens = 4096
heads = 16
kv_heads = 4
width = 128

CASES = [
    dict(name="full", tokens=4096, heads=16, kv_heads=4, width=128, dtype="float16"),
    dict(name="odd", held_out=True, tokens=101, heads=6, kv_heads=3, width=64, dtype="float32"),
    dict(name="small", small=True, tokens=9, heads=4, kv_heads=2, width=32, dtype="float32"),
]

MUTATES = (
    "q",
    "k",
)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos[:, None] - b * sin[:, None], a * sin[:, None] + b * cos[:, None]], -1)


class Model(nn.Module):
    def forward(self, q, k, cos, sin):
        q.copy_(rotate(q, cos, sin))
        k.copy_(rotate(k, cos, sin))


def get_inputs():
    return [
        torch.randn(tokens, heads, width),
        torch.randn(tokens, kv_heads, width),
        torch.randn(tokens, width // 2),
        torch.randn(tokens, width // 2),
    ]


def get_init_inputs():
    return []
