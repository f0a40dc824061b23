"""Mean cross-entropy."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 64
cols = 1000

CASES = [
    dict(name="full", rows=64, cols=1000, dtype="float32"),
    dict(name="full1", rows=103, cols=2049, dtype="float32", held_out=True),
    dict(name="small", small=True, rows=37, cols=33, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, target):
        return F.cross_entropy(x, target)


def get_inputs():
    return [torch.randn(rows, cols), torch.randint(0, cols, (rows,))]


def get_init_inputs():
    return []
