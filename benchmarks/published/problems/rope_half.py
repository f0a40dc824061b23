"""Rotary embedding of the two halves of each head."""

import torch
import torch.nn as nn

batch = 2
length = 1024
heads = 16
width = 128

CASES = [
    dict(name="full", batch=2, length=1024, heads=16, width=128, dtype="float16"),
    dict(name="small", small=True, batch=2, length=5, heads=3, width=32, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        c, s = cos[:, None, :], sin[:, None, :]
        return torch.cat([first * c - second * s, first * s + second * c], dim=-1)


def get_inputs():
    return [torch.randn(batch, length, heads, width), torch.randn(length, width // 2), torch.randn(length, width // 2)]


def get_init_inputs():
    return []
