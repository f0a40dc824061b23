"""alpha * x + y, and a third tensor where there is one: a number and None among the arguments."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y, alpha, z):
        out = alpha * x + y
        return out if z is None else out + z


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 301, "columns": 501},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 5, "columns": 33},
]


def get_inputs(rows=301, columns=501):
    return [torch.randn(rows, columns), torch.randn(rows, columns), 0.5, None]


def get_init_inputs():
    return []
