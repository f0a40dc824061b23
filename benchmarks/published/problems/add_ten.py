"""Each element plus ten."""

import torch
import torch.nn as nn

count = 1048576

CASES = [
    dict(name="full", count=1048576, dtype="float32"),
    dict(name="full1", count=98433, dtype="float16", held_out=True),
    dict(name="small", small=True, count=1500, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return x + 10


def get_inputs():
    return [torch.randn(count)]


def get_init_inputs():
    return []
