"""Maximum of each row, and its place, of at most 256 columns."""

import torch
import torch.nn as nn

rows = 65536
cols = 200

CASES = [
    dict(name="full", rows=65536, cols=200, dtype="float32"),
    dict(name="odd", held_out=True, rows=101, cols=129, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        values, indices = torch.max(x, -1)
        return values, indices


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
