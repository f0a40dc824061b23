"""A product of matrices whose sizes are powers of two."""

import torch
import torch.nn as nn

m = 64
k = 128
n = 64

CASES = [
    dict(name="full", m=64, k=128, n=64, dtype="float32"),
    dict(name="small", small=True, m=16, k=32, n=64, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n) / k**0.5]


def get_init_inputs():
    return []
