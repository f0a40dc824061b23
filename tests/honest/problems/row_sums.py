"""The sum of every row."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.sum(dim=-1)


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=9, cols=301),
    dict(name="timed", dtype="float32", rows=1023, cols=4101),
]


def get_inputs(rows=9, cols=301):
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
