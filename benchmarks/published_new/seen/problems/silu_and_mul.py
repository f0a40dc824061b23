"""SiLU of the first half of each row times the second half."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
cols = 4096

CASES = [
    dict(name="full", rows=4096, cols=4096, dtype="float16"),
    dict(name="odd", rows=1003, cols=1027, dtype="float32", held_out=True),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        gate, up = x.chunk(2, dim=-1)
        return F.silu(gate) * up


def get_inputs():
    return [torch.randn(rows, 2 * cols)]


def get_init_inputs():
    return []
