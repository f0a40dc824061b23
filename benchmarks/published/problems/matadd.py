"""Sum of two matrices in float16."""

import torch
import torch.nn as nn

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float16"),
    dict(name="small", small=True, rows=33, cols=70, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, x, y):
        return x + y


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(rows, cols)]


def get_init_inputs():
    return []
