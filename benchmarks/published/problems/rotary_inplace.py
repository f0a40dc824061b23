"""Rotary embedding of queries and keys in place."""

import torch
import torch.nn as nn

tokens = 2048
width = 128

CASES = [
    dict(name="full", tokens=2048, width=128, dtype="float16"),
    dict(name="small", small=True, tokens=5, width=32, dtype="float32"),
]


MUTATES = (
    "q",
    "k",
)


class Model(nn.Module):
    def forward(self, q, k, cos, sin):
        for x in (q, k):
            first, second = x.chunk(2, dim=-1)
            c, s = cos[:, None], sin[:, None]
            x.copy_(torch.cat([first * c - second * s, first * s + second * c], dim=-1))


def get_inputs():
    return [
        torch.randn(tokens, 4, width),
        torch.randn(tokens, 2, width),
        torch.randn(tokens, width // 2),
        torch.randn(tokens, width // 2),
    ]


def get_init_inputs():
    return []
