"""Variance and mean over the last dimension with a given correction (0 for biased, 1 for unbiased).

Any finite values, with any offset; rows have at least two elements more than the correction."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, correction):
        var, mean = torch.var_mean(x, dim=-1, correction=correction)
        return var, mean


CASES = [
    dict(name="large", dtype="float32", rows=8192, cols=8192, correction=1),
    dict(name="odd", dtype="float32", held_out=True, rows=55, cols=3001, correction=0),
    dict(name="small", dtype="float32", small=True, rows=12, cols=50, correction=1),
    dict(name="long", dtype="float32", small=True, rows=3, cols=1000, correction=0),
    dict(name="short", dtype="float32", small=True, rows=20, cols=4, correction=2),
]


def get_inputs(rows=8192, cols=8192, correction=1):
    return [torch.randn(rows, cols) * 2 + 3, correction]


def get_init_inputs():
    return []
