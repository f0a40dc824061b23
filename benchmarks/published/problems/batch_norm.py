"""Batch norm with running statistics."""

import torch
import torch.nn as nn

n = 32
size = 64

CASES = [
    dict(name="full", n=32, size=64, dtype="float16"),
    dict(name="small", small=True, n=3, size=5, dtype="float32"),
]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(6)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(n, 6, size, size)]


def get_init_inputs():
    return []
