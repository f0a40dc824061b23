"""A batch of small matrix products in single precision (not TF32)."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


CASES = [
    {"name": "timed", "dtype": "float32", "batch": 7, "size": 15},
    {"name": "ragged", "dtype": "float32", "small": True, "batch": 2, "size": 11},
]


def get_inputs(batch=7, size=15):
    return [torch.randn(batch, size, size), torch.randn(batch, size, size)]


def get_init_inputs():
    return []
