"""Softmax of each row, in float32 and with rows of no round length."""

import torch
import torch.nn as nn

rows = 4096
columns = 1000

CASES = [
    dict(name="ragged", rows=4096, columns=1000),
    dict(name="wide", held_out=True, rows=512, columns=8000),
    dict(name="small", small=True, rows=9, columns=129),
    dict(name="small_wide", small=True, rows=3, columns=1000),
]


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
