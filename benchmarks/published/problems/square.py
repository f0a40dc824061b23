"""The square of each element."""

import torch
import torch.nn as nn

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float16"),
    dict(name="full1", rows=1003, cols=2049, dtype="float32", held_out=True),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
    dict(name="small1", small=True, rows=3, cols=130, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return x * x


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
