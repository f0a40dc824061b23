"""Values between -50 and 50."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return 50 * torch.tanh(x / 50)


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=9, columns=51),
    dict(name="timed", dtype="float32", rows=33, columns=63),
]


def get_inputs(rows=33, columns=63):
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
