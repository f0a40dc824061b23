"""Sums of each element and those behind it, along the last dimension."""

import torch
import torch.nn as nn

batch = 8
heads = 16
length = 4096

CASES = [
    dict(name="full", batch=8, heads=16, length=4096, dtype="float32"),
    dict(name="small", small=True, batch=2, heads=3, length=75, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return x.flip(-1).cumsum(-1).flip(-1)


def get_inputs():
    return [torch.randn(batch, heads, length)]


def get_init_inputs():
    return []
