"""Cumulative sum over tokens."""

import torch
import torch.nn as nn

batch = 4
length = 4096
heads = 16

CASES = [
    dict(name="full", batch=4, length=4096, heads=16, dtype="float32"),
    dict(name="small", small=True, batch=2, length=37, heads=3, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return x.cumsum(1)


def get_inputs():
    return [torch.randn(batch, length, heads)]


def get_init_inputs():
    return []
