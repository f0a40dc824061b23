"""Rows of a table."""

import torch
import torch.nn as nn

rows = 4096
cols = 1000
count = 2048

CASES = [
    dict(name="full", rows=4096, cols=1000, count=2048, dtype="float16"),
    dict(name="small", small=True, rows=11, cols=37, count=5, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, ids, table):
        return table[ids]


def get_inputs():
    return [torch.randint(0, rows, (count,)), torch.randn(rows, cols)]


def get_init_inputs():
    return []
