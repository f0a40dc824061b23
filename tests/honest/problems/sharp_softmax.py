"""The softmax of scores that are far apart."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=24, columns=200),
    dict(name="timed", dtype="float32", rows=33, columns=63),
]


def get_inputs(rows=33, columns=63):
    return [4 * torch.randn(rows, columns)]


def get_init_inputs():
    return []
