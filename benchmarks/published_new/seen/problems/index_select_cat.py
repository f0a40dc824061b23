"""Rows of two matrices, picked by indices, one behind the other in one vector."""

import torch
import torch.nn as nn

rows = 4096
cols = 1024

CASES = [
    dict(name="full", rows=4096, cols=1024, dtype="float16"),
    dict(name="odd", rows=1003, cols=513, dtype="float32", held_out=True),
    dict(name="small", small=True, rows=9, cols=40, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, a, b, index_a, index_b):
        return torch.cat([a[index_a].flatten(), b[index_b].flatten()])


def get_inputs():
    return [
        torch.randn(rows, cols),
        torch.randn(rows + 3, cols // 2),
        torch.randperm(rows)[: rows // 2],
        torch.randperm(rows + 3)[: rows // 3],
    ]


def get_init_inputs():
    return []
