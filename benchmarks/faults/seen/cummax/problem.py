"""Running maximum over the last dimension and the index at which it was attained (the last index among equal values).

Values are finite, ties are common (in a random walk of whole steps, in clipped data)."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        values, indices = torch.cummax(x, dim=-1)
        return values, indices


CASES = [
    dict(name="large", dtype="float32", rows=8192, cols=4096),
    dict(name="odd", dtype="float32", held_out=True, rows=33, cols=777),
    dict(name="small", dtype="float32", small=True, rows=5, cols=90),
    dict(name="long", dtype="float32", small=True, rows=3, cols=300),
]


def get_inputs(rows=8192, cols=4096):
    return [(torch.randn(rows, cols) * 4).round() / 4]


def get_init_inputs():
    return []
