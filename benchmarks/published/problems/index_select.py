"""Columns of a matrix."""

import torch
import torch.nn as nn

rows = 1024
cols = 1000
count = 300

CASES = [
    dict(name="full", rows=1024, cols=1000, count=300, dtype="float16"),
    dict(name="small", small=True, rows=5, cols=37, count=9, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, index):
        return x.index_select(1, index)


def get_inputs():
    return [torch.randn(rows, cols), torch.randint(0, cols, (count,))]


def get_init_inputs():
    return []
