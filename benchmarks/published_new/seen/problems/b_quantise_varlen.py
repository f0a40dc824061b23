"""Queries (times their scale, in powers of two) and keys of sequences of several lengths rounded to eight bits by blocks."""

import torch
import torch.nn as nn

sequences = 4
blocks = 4
heads = 8
width = 64

CASES = [
    dict(name="full", sequences=4, blocks=4, heads=8, width=64, dtype="float32"),
    dict(name="odd", held_out=True, sequences=3, blocks=2, heads=3, width=32, dtype="float32"),
    dict(name="small", small=True, sequences=2, blocks=1, heads=2, width=16, dtype="float32"),
]

LIBRARY = "any"


def quantise(x, rows):
    parts = x.unflatten(0, (-1, rows))
    scale = parts.abs().amax((1, 3)) / 127
    value = parts / torch.where(scale == 0, 1, scale)[:, None, :, None]
    value = torch.trunc(value + torch.where(value >= 0, 0.5, -0.5))
    return value.to(torch.int8).view(x.shape), scale


class Model(nn.Module):
    def forward(self, q, k, cu_seqlens):
        return *quantise(q * (q.shape[-1] ** -0.5 * 1.44269504), 128), *quantise(k, 64)


def get_inputs():
    tokens = sequences * blocks * 128
    cu_seqlens = torch.arange(0, tokens + 1, blocks * 128, dtype=torch.int32)
    return [torch.randn(tokens, heads, width), torch.randn(tokens, heads, width), cu_seqlens]


def get_init_inputs():
    return []
