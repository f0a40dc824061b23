"""Minimum of each row, and its place."""

import torch
import torch.nn as nn

rows = 1024
cols = 10000

CASES = [
    dict(name="full", rows=1024, cols=10000, dtype="float32"),
    dict(name="odd", held_out=True, rows=7, cols=12345, dtype="float32"),
    dict(name="small", small=True, rows=3, cols=9000, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        values, indices = torch.min(x, -1)
        return values, indices


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
