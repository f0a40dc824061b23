"""One matrix times three others."""

import torch
import torch.nn as nn

m = 1024
n = 1024
k = 1024

CASES = [
    dict(name="full", m=2048, n=1024, k=1024, dtype="float16"),
    dict(name="odd", m=333, n=200, k=136, dtype="float16", held_out=True),
    dict(name="small", small=True, m=20, n=24, k=32, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, x, w1, w2, w3):
        return x @ w1, x @ w2, x @ w3


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n), torch.randn(k, n // 2), torch.randn(k, n // 2)]


def get_init_inputs():
    return []
