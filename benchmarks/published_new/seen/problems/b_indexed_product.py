"""Negated product of each row with the row of a table that an index names."""

import torch
import torch.nn as nn

rows = 1024
width = 512
vocabulary = 8192

CASES = [
    dict(name="full", rows=1024, width=512, vocabulary=8192, dtype="float32"),
    dict(name="odd", held_out=True, rows=77, width=100, vocabulary=333, dtype="float32"),
    dict(name="small", small=True, rows=20, width=64, vocabulary=150, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, e, c, index):
        return -(e * c[index]).sum(-1)


def get_inputs():
    return [
        torch.randn(rows, width),
        torch.randn(vocabulary, width) / width**0.5,
        torch.randint(0, vocabulary, (rows,)),
    ]


def get_init_inputs():
    return []
