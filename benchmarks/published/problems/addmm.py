"""Matrix product plus a bias."""

import torch
import torch.nn as nn

m = 1024
n = 512
k = 1024

CASES = [
    dict(name="full", m=1024, n=512, k=1024, dtype="float16"),
    dict(name="small", small=True, m=17, n=40, k=48, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, bias, a, b):
        return torch.addmm(bias, a, b)


def get_inputs():
    return [torch.randn(n), torch.randn(m, k), torch.randn(k, n) / k**0.5]


def get_init_inputs():
    return []
