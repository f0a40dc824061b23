"""Row maxima with their backward: the gradient goes to the largest elements of the row, in equal shares where several are.

Finite values; ties are common."""

import torch
import torch.nn as nn


GRADIENTS = True


class Model(nn.Module):
    def forward(self, x):
        return x.amax(-1)


CASES = [
    dict(name="large", dtype="float32", rows=16384, cols=1024),
    dict(name="odd", dtype="float32", held_out=True, rows=101, cols=777),
    dict(name="small", dtype="float32", small=True, rows=20, cols=60),
    dict(name="long", dtype="float32", small=True, rows=4, cols=500),
]


def get_inputs(rows=16384, cols=1024):
    return [(torch.randn(rows, cols) * 2).round() / 2]


def get_init_inputs():
    return []
