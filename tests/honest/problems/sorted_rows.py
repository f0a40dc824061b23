"""Rows of whole numbers in ascending order."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sort(x, dim=-1)[0]


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=5, columns=51),
    dict(name="timed", dtype="float32", rows=33, columns=63),
]


def get_inputs(rows=33, columns=63):
    return [torch.randint(-999, 999, (rows, columns), dtype=torch.int32)]


def get_init_inputs():
    return []
