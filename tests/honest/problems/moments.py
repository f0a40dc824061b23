"""Mean and variance of each row: two outputs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.mean(dim=1), x.var(dim=1, unbiased=False)


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 301, "columns": 203},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 6, "columns": 147},
]


def get_inputs(rows=301, columns=203):
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
