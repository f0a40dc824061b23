"""Softmax over the last dimension of a matrix."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 301, "columns": 99},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 5, "columns": 77},
]


def get_inputs(rows=301, columns=99):
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
