"""Product of two int8 matrices, scaled by rows and columns."""

import torch
import torch.nn as nn

m = 1000
n = 2048
k = 1024

CASES = [
    dict(name="full", m=1000, n=2048, k=1024, dtype="float32"),
    dict(name="odd", m=77, n=300, k=200, dtype="float32", held_out=True),
    dict(name="small", small=True, m=17, n=40, k=64, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, a, b, scale_a, scale_b):
        return (a.float() @ b.float()) * scale_a[:, None] * scale_b


def get_inputs():
    return [
        torch.randint(-100, 100, (m, k), dtype=torch.int8),
        torch.randint(-100, 100, (k, n), dtype=torch.int8),
        torch.rand(m) + 0.1,
        torch.rand(n) + 0.1,
    ]


def get_init_inputs():
    return []
