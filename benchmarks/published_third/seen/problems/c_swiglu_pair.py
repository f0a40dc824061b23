"""SiLU of one matrix times another, with gradients."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
d = 2048

CASES = [
    dict(name="full", rows=4096, d=2048, dtype="float32"),
    dict(name="odd", held_out=True, rows=33, d=300, dtype="float32"),
    dict(name="small", small=True, rows=6, d=70, dtype="float32"),
]

GRADIENTS = True


class Model(nn.Module):
    def forward(self, gate, up):
        return F.silu(gate) * up


def get_inputs():
    return [torch.randn(rows, d), torch.randn(rows, d)]


def get_init_inputs():
    return []
