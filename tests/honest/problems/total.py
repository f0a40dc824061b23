"""The sum of all elements, as a tensor without dimensions."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.sum()


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 301, "columns": 1001},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 13, "columns": 101},
]


def get_inputs(rows=301, columns=1001):
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
