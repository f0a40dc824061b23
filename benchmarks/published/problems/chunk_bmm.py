"""Products of all tokens of each chunk of 16."""

import torch
import torch.nn as nn

batch = 4
length = 2048
width = 64

PRECISION = "tf32"  # float32 products of tl.dot, by Triton's default

CASES = [
    dict(name="full", batch=4, length=2048, width=64, dtype="float16"),
    dict(name="small", small=True, batch=2, length=48, width=20, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, a, b):
        x, y = a.unflatten(1, (-1, 16)), b.unflatten(1, (-1, 16))
        return x @ y.transpose(-1, -2)


def get_inputs():
    return [torch.randn(batch, length, width), torch.randn(batch, length, width)]


def get_init_inputs():
    return []
