"""LayerNorm over the last dimension, with weight and bias."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return self.norm(x)


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 301, "features": 99},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 5, "features": 75},
]


def get_inputs(rows=301, features=99):
    return [torch.randn(rows, features)]


def get_init_inputs(features=99):
    return [features]
