"""Rotary embedding of queries and keys."""

import torch
import torch.nn as nn

batch = 2
length = 1024
width = 128

CASES = [
    dict(name="full", batch=2, length=1024, width=128, dtype="float16"),
    dict(name="small", small=True, batch=1, length=5, width=32, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, q, k, cos, sin):
        outputs = []
        for x in (q, k):
            first, second = x.chunk(2, dim=-1)
            c, s = cos[:, None, :], sin[:, None, :]
            outputs.append(torch.cat([first * c - second * s, first * s + second * c], dim=-1))
        return tuple(outputs)


def get_inputs():
    return [
        torch.randn(batch, length, 4, width),
        torch.randn(batch, length, 2, width),
        torch.randn(length, width // 2),
        torch.randn(length, width // 2),
    ]


def get_init_inputs():
    return []
