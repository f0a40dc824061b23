"""Adds rows of `src` to rows of `base` at the given indices (index_add), returning a new tensor; indices repeat freely.

Indices are row numbers of base, int64; -1 does not occur. Any finite values."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, base, index, src, alpha):
        return torch.index_add(base, 0, index, src, alpha=alpha)


CASES = [
    dict(name="large", dtype="float32", rows=10000, count=100000, features=128, alpha=1.0),
    dict(name="odd", dtype="float32", held_out=True, rows=301, count=999, features=77, alpha=-0.5),
    dict(name="small", dtype="float32", small=True, rows=20, count=30, features=33, alpha=1.0),
    dict(name="few", dtype="float32", small=True, rows=4, count=40, features=16, alpha=2.0),
]


def get_inputs(rows=10000, count=100000, features=128, alpha=1.0):
    return [torch.randn(rows, features), torch.randint(0, rows, (count,)), torch.randn(count, features), alpha]


def get_init_inputs():
    return []
