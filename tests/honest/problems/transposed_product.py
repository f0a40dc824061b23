"""x.T * y, made of two matrices that lie in memory in different orders, beside the sigmoid of y."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.cat([x.T * y, y.sigmoid()], dim=1)


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 201, "columns": 12},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 21, "columns": 10},
]


def get_inputs(rows=201, columns=12):
    return [torch.randn(rows, columns), torch.randn(columns, rows)]


def get_init_inputs():
    return []
