"""Gradients of SiLU of one matrix times another."""

import torch
import torch.nn as nn

rows = 4096
d = 2048

CASES = [
    dict(name="full", rows=4096, d=2048, dtype="float32"),
    dict(name="odd", held_out=True, rows=33, d=300, dtype="float32"),
    dict(name="small", small=True, rows=6, d=70, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, grad, gate, up):
        s = torch.sigmoid(gate)
        return grad * up * s * (1 + gate * (1 - s)), grad * gate * s


def get_inputs():
    return [torch.randn(rows, d) for _ in range(3)]


def get_init_inputs():
    return []
