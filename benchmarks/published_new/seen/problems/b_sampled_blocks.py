"""Chosen blocks of 128 by 128 of a product."""

import torch
import torch.nn as nn

rows = 8
inner = 8
cols = 4
kept = 3

CASES = [
    dict(name="full", rows=8, inner=8, cols=4, kept=3, dtype="float16"),
    dict(name="odd", held_out=True, rows=3, inner=2, cols=2, kept=2, dtype="float16"),
    dict(name="small", small=True, rows=2, inner=2, cols=1, kept=1, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, lhs, rhs, offsets, row_index, column_index):
        a = lhs.view(-1, 128, lhs.shape[1])[row_index.long()]
        b = rhs.view(rhs.shape[0], -1, 128).transpose(0, 1)[column_index.long()]
        return a @ b


def get_inputs():
    offsets = torch.arange(0, rows * kept + 1, kept, dtype=torch.int32)
    row_index = torch.arange(rows, dtype=torch.int16).repeat_interleave(kept)
    column_index = torch.randint(0, cols, (rows * kept,), dtype=torch.int16)
    return [
        torch.randn(rows * 128, inner * 128),
        torch.randn(inner * 128, cols * 128),
        offsets,
        row_index,
        column_index,
    ]


def get_init_inputs():
    return []
