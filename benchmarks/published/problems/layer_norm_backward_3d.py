"""Gradient of layer norm for its input of three dimensions."""

import torch
import torch.nn as nn

rows = 512
cols = 1000

CASES = [
    dict(name="full", rows=512, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, dy, x, mean, rstd, weight):
        wide = dy * weight
        hat = (x - mean[..., None]) * rstd[..., None]
        return rstd[..., None] * (wide - wide.mean(-1, keepdim=True) - hat * (wide * hat).mean(-1, keepdim=True))


def get_inputs():
    return [
        torch.randn(2, rows, cols),
        torch.randn(2, rows, cols),
        torch.randn(2, rows),
        torch.rand(2, rows) + 0.5,
        torch.randn(cols),
    ]


def get_init_inputs():
    return []
