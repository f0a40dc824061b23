"""Weighted sums of the rows of a table in half precision, with weights and results in float32."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """table: (rows, dim) float16; index: (bags, length) int64; weight: (bags, length) float32. Returns (bags, dim)."""

    def forward(self, table, index, weight):
        return (table[index] * weight[..., None]).sum(dim=1)


CASES = [
    dict(name="1M_rows", rows=2**20, dim=128, bags=8192, length=32),
    dict(name="50257_rows", held_out=True, rows=50257, dim=96, bags=1001, length=20),
    dict(name="small", small=True, rows=100, dim=40, bags=6, length=8),
]


def get_inputs(rows=2**20, dim=128, bags=8192, length=32):
    return [
        torch.randn(rows, dim, dtype=torch.float16),
        torch.randint(0, rows, (bags, length)),
        torch.rand(bags, length),
    ]


def get_init_inputs():
    return []
