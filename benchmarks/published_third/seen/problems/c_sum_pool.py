"""Sums of blocks of 32 values, the last one shorter."""

import torch
import torch.nn as nn

batch = 2
heads = 8
length = 1000

CASES = [
    dict(name="full", batch=2, heads=8, length=1000, dtype="float32"),
    dict(name="odd", held_out=True, batch=1, heads=3, length=77, dtype="float32"),
    dict(name="small", small=True, batch=2, heads=2, length=50, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return torch.stack([part.sum(-1) for part in x.split(32, -1)], -1)


def get_inputs():
    return [torch.randn(batch, heads, length)]


def get_init_inputs():
    return []
