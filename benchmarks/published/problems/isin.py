"""Which elements are in a list."""

import torch
import torch.nn as nn

rows = 1024
cols = 1000

CASES = [
    dict(name="full", rows=1024, cols=1000),
    dict(name="small", small=True, rows=5, cols=37),
]


class Model(nn.Module):
    def forward(self, x, values):
        return torch.isin(x, values)


def get_inputs():
    return [torch.randint(0, 50, (rows, cols)), torch.randint(0, 50, (20,))]


def get_init_inputs():
    return []
