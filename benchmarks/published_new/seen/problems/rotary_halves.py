"""Rotary embedding of queries and keys, by halves, with tables of the whole width."""

import torch
import torch.nn as nn

tokens = 2048
heads = 16
kv_heads = 4
width = 128

CASES = [
    dict(name="full", tokens=2048, heads=16, kv_heads=4, width=128, dtype="float16"),
    dict(name="odd", tokens=333, heads=6, kv_heads=2, width=96, dtype="float32", held_out=True),
    dict(name="small", small=True, tokens=5, heads=2, kv_heads=1, width=16, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, q, k, cos, sin):
        result = []
        for x in (q, k):
            first, second = x.chunk(2, -1)
            result.append(x * cos[:, None] + torch.cat([-second, first], -1) * sin[:, None])
        return tuple(result)


def get_inputs():
    return [
        torch.randn(tokens, heads, width),
        torch.randn(tokens, kv_heads, width),
        torch.randn(tokens, width),
        torch.randn(tokens, width),
    ]


def get_init_inputs():
    return []
