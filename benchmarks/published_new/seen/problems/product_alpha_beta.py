"""C becomes half of a product plus twice C, in place."""

import torch
import torch.nn as nn

m = 2048
n = 2048
k = 1024

CASES = [
    dict(name="full", m=2048, n=2048, k=1024, dtype="float16"),
    dict(name="odd", m=333, n=200, k=136, dtype="float16", held_out=True),
    dict(name="small", small=True, m=20, n=24, k=40, dtype="float16"),
]

MUTATES = ("c",)


class Model(nn.Module):
    def forward(self, a, b, c):
        c.copy_(0.5 * (a @ b) + 2 * c)


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n), torch.randn(m, n)]


def get_init_inputs():
    return []
