"""A symmetric matrix, its square, and their weighted sum."""

import torch
import torch.nn as nn

batch = 2
rows = 1024
cols = 2048

CASES = [
    dict(name="full", batch=2, rows=1024, cols=2048, dtype="float32"),
    dict(name="odd", held_out=True, batch=1, rows=130, cols=200, dtype="float32"),
    dict(name="small", small=True, batch=2, rows=40, cols=70, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return -4.775 * (x @ x) + 2.0315 * x


def get_inputs():
    y = torch.randn(batch, rows, rows)
    return [(y + y.transpose(1, 2)) / (2 * rows**0.5)]


def get_init_inputs():
    return []
