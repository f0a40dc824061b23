"""The sigmoid of x, a bias and half of another tensor, in place."""

import torch
import torch.nn as nn

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=60, cols=37, dtype="float32"),
    dict(name="small1", small=True, rows=32, cols=130, dtype="float32"),
]

MUTATES = ("x",)


class Model(nn.Module):
    def forward(self, x, bias, y):
        x.copy_(torch.sigmoid(0.5 * y + x + bias))


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(cols), torch.randn(rows, cols)]


def get_init_inputs():
    return []
