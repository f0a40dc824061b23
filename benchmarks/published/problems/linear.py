"""Linear layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F

m = 1024
n = 512
k = 1024

PRECISION = "tf32"  # float32 products of tl.dot, by Triton's default

CASES = [
    dict(name="full", m=1024, n=512, k=1024, dtype="float16"),
    dict(name="small", small=True, m=17, n=40, k=48, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight, bias):
        return F.linear(x, weight, bias)


def get_inputs():
    return [torch.randn(m, k), torch.randn(n, k) / k**0.5, torch.randn(n)]


def get_init_inputs():
    return []
