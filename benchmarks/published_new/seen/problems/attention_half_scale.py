"""Attention over all keys, with scores times one half."""

import torch
import torch.nn as nn

heads = 32
length = 1024
width = 128

CASES = [
    dict(name="full", heads=32, length=1024, width=128, dtype="float16"),
    dict(name="long", heads=2, length=16384, width=128, dtype="float16"),
    dict(name="small", small=True, heads=1, length=64, width=128, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, q, k, v):
        return torch.softmax(0.5 * (q @ k.transpose(2, 3)), -1) @ v


def get_inputs():
    return [torch.randn(1, heads, length, width) for _ in range(3)]


def get_init_inputs():
    return []
