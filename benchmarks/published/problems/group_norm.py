"""Group norm, three groups, with weight and bias."""

import torch
import torch.nn as nn
import torch.nn.functional as F

n = 32
size = 64

CASES = [
    dict(name="full", n=32, size=64, dtype="float32"),
    dict(name="small", small=True, n=2, size=5, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight, bias):
        return F.group_norm(x, 3, weight, bias, 1e-5)


def get_inputs():
    return [torch.randn(n, 6, size, size), torch.randn(6), torch.randn(6)]


def get_init_inputs():
    return []
