"""clamp(x, -1, 1) * weight by column, with its backward: the clamp's gradient is 1 inside and at both limits, 0 outside.

Any finite values; values exactly at the limits are common (data in steps of 1/4)."""

import torch
import torch.nn as nn


GRADIENTS = True


class Model(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return x.clamp(-1.0, 1.0) * self.weight


CASES = [
    dict(name="large", dtype="float32", rows=16384, cols=1024),
    dict(name="odd", dtype="float32", held_out=True, rows=1001, cols=77),
    dict(name="small", dtype="float32", small=True, rows=40, cols=30),
    dict(name="tall", dtype="float32", small=True, rows=150, cols=9),
]


def get_inputs(rows=16384, cols=1024):
    return [(torch.randn(rows, cols) * 4).round() / 4]


def get_init_inputs(cols=1024):
    return [cols]
