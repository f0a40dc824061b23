"""A bias for every column after ReLU."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return torch.relu(x) + self.bias


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=7, cols=75),
    dict(name="timed", dtype="float32", rows=2047, cols=1025),
]


def get_inputs(rows=7, cols=75):
    return [torch.randn(rows, cols)]


def get_init_inputs(cols=75):
    return [cols]
