"""Diagonal matrix of a vector."""

import torch
import torch.nn as nn

count = 2048

CASES = [
    dict(name="full", count=2048, dtype="float32"),
    dict(name="small", small=True, count=37, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return torch.diag(x)


def get_inputs():
    return [torch.randn(count)]


def get_init_inputs():
    return []
