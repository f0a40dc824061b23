"""relu(x * weight + bias - shift): two parameters and a buffer, elementwise over the last dimension."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))
        self.bias = nn.Parameter(torch.randn(features))
        self.register_buffer("shift", torch.randn(features))

    def forward(self, x):
        return torch.relu(x * self.weight + self.bias - self.shift)


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 301, "features": 45},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 7, "features": 37},
    {"name": "half", "dtype": "float16", "small": True, "rows": 4, "features": 64},
]


def get_inputs(rows=301, features=45):
    return [torch.randn(rows, features)]


def get_init_inputs(features=45):
    return [features]
