"""The mean square of what is left of a row without its mean."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1)


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=3, columns=41),
    dict(name="timed", dtype="float32", rows=33, columns=63),
]


def get_inputs(rows=33, columns=63):
    return [torch.randn(1, rows, columns)]


def get_init_inputs():
    return []
