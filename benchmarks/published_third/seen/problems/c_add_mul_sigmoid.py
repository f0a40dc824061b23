"""The sigmoid of a matrix plus a bias plus half of another matrix, in place."""

import torch
import torch.nn as nn

batch = 4096
width = 1024

CASES = [
    dict(name="full", batch=4096, width=1024, dtype="float32"),
    dict(name="odd", held_out=True, batch=77, width=96, dtype="float32"),
    dict(name="small", small=True, batch=8, width=32, dtype="float32"),
]

MUTATES = ("x",)


class Model(nn.Module):
    def forward(self, x, bias, y):
        x.copy_(torch.sigmoid(x + 0.5 * y + bias))


def get_inputs():
    return [torch.randn(batch, width), torch.randn(1, width), torch.randn(batch, width)]


def get_init_inputs():
    return []
