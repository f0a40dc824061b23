"""x + y.T * alpha for a matrix and a transposed one, with a row vector broadcast on top; any strides.

Inputs may be views with any strides (transposed, padded, every other column); the result is dense."""

import torch
import torch.nn as nn


LAYOUTS = "any"


class Model(nn.Module):
    def forward(self, x, y, bias, alpha):
        return x + y.t() * alpha + bias


CASES = [
    dict(name="large", dtype="float32", rows=8192, cols=4096, alpha=0.5),
    dict(name="odd", dtype="float32", held_out=True, rows=1001, cols=77, alpha=-1.0),
    dict(name="small", dtype="float32", small=True, rows=33, cols=50, alpha=2.0),
    dict(name="square", dtype="float32", small=True, rows=40, cols=40, alpha=1.0),
]


def get_inputs(rows=8192, cols=4096, alpha=0.5):
    return [torch.randn(rows, cols), torch.randn(cols, rows), torch.randn(cols), alpha]


def get_init_inputs():
    return []
