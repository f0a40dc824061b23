"""The five largest of each row, and where they are."""

import torch
import torch.nn as nn

rows = 512
cols = 2000

CASES = [
    dict(name="full", rows=512, cols=2000, dtype="float32"),
    dict(name="small", small=True, rows=3, cols=40, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        values, indices = torch.topk(x, 5, dim=-1)
        return values, indices


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
