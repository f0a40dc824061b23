"""Product of a dense matrix with the transpose of one of blocks of 128 by 128, most of them zero."""

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
    def forward(self, lhs, data, offsets, row_index, column_index):
        parts = lhs.view(lhs.shape[0], -1, 128).transpose(0, 1)[column_index.long()] @ data.transpose(1, 2)
        out = lhs.new_zeros(offsets.shape[0] - 1, lhs.shape[0], 128).index_add(0, row_index.long(), parts)
        return out.transpose(0, 1).flatten(1)


def get_inputs():
    offsets = torch.arange(0, rows * kept + 1, kept, dtype=torch.int32)
    row_index = torch.arange(rows, dtype=torch.int16).repeat_interleave(kept)
    column_index = torch.randint(0, inner, (rows * kept,), dtype=torch.int16)
    return [torch.randn(cols * 128, inner * 128), torch.randn(rows * kept, 128, 128), offsets, row_index, column_index]


def get_init_inputs():
    return []
