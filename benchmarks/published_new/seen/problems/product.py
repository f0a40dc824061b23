"""Product of two matrices."""

import torch
import torch.nn as nn

m = 128
n = 4096
k = 4096

CASES = [
    dict(name="full", m=128, n=4096, k=4096, dtype="float16"),
    dict(name="odd", m=64, n=192, k=1100, dtype="float16", held_out=True),
    dict(name="small", small=True, m=64, n=64, k=96, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n)]


def get_init_inputs():
    return []
