"""Rows of a matrix replaced by others, at different places."""

import torch
import torch.nn as nn

rows = 4096
cols = 1024

CASES = [
    dict(name="full", rows=4096, cols=1024, dtype="float16"),
    dict(name="odd", rows=1003, cols=513, dtype="float32", held_out=True),
    dict(name="small", small=True, rows=9, cols=40, dtype="float32"),
]

MUTATES = ("out",)


class Model(nn.Module):
    def forward(self, out, index, rows_of):
        out.index_copy_(0, index, rows_of)


def get_inputs():
    return [torch.randn(rows, cols), torch.randperm(rows)[: rows // 2], torch.randn(rows // 2, cols)]


def get_init_inputs():
    return []
