"""The product of two half-precision matrices."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


CASES = [
    {"name": "timed", "dtype": "float16", "m": 264, "n": 248, "k": 240},
    {"name": "ragged", "dtype": "float16", "small": True, "m": 24, "n": 40, "k": 48},
]


def get_inputs(m=264, n=248, k=240):
    return [torch.randn(m, k), torch.randn(k, n)]


def get_init_inputs():
    return []
