"""Splits the last dimension into value and gate halves and returns value * gelu(gate), exact, with the gate limited from above.

`limit` is a positive number or None (no limit); the gate is limited before GELU, the value to [-limit, limit]. Any finite values."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, limit):
        value, gate = x.chunk(2, -1)
        if limit is not None:
            gate = gate.clamp(max=limit)
            value = value.clamp(-limit, limit)
        return value * F.gelu(gate)


CASES = [
    dict(name="large", dtype="bfloat16", rows=8192, cols=8192, limited=True),
    dict(name="odd", dtype="float16", held_out=True, rows=99, cols=333, limited=False),
    dict(name="small", dtype="float32", small=True, rows=9, cols=70, limited=True),
    dict(name="free", dtype="float32", small=True, rows=4, cols=200, limited=False),
]


def get_inputs(rows=8192, cols=8192, limited=True):
    return [torch.randn(rows, 2 * cols) * 2, 3.0 if limited else None]


def get_init_inputs():
    return []
