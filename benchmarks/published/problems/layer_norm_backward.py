"""Gradient of layer norm for its input, a matrix."""

import torch
import torch.nn as nn

rows = 1024
cols = 1000

CASES = [
    dict(name="full", rows=1024, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, dy, x, mean, rstd, weight):
        wide = dy * weight
        hat = (x - mean[..., None]) * rstd[..., None]
        return rstd[..., None] * (wide - wide.mean(-1, keepdim=True) - hat * (wide * hat).mean(-1, keepdim=True))


def get_inputs():
    return [
        torch.randn(rows, cols),
        torch.randn(rows, cols),
        torch.randn(rows),
        torch.rand(rows) + 0.5,
        torch.randn(cols),
    ]


def get_init_inputs():
    return []
