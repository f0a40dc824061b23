"""Mean of each chunk of 16 tokens."""

import torch
import torch.nn as nn

batch = 2
length = 500
heads = 8
width = 64

CASES = [
    dict(name="full", batch=2, length=500, heads=8, width=64, dtype="float16"),
    dict(name="small", small=True, batch=2, length=37, heads=3, width=20, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        parts = [part.mean(1) for part in x.split(16, dim=1)]
        return torch.stack(parts, 1)


def get_inputs():
    return [torch.randn(batch, length, heads, width)]


def get_init_inputs():
    return []
