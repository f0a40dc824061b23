"""A transposed matrix, laid out anew, twice as large in value."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return (2 * x).t().contiguous()


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=19, cols=45),
    dict(name="timed", dtype="float32", rows=1001, cols=2003),
]


def get_inputs(rows=19, cols=45):
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
