"""Attention of each row to the rows before it; the first has none."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax((x @ x.mT).masked_fill(x.new_ones(len(x), len(x)).triu() > 0, -torch.inf), -1).nan_to_num(
            0.0
        )


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=9, columns=12),
    dict(name="timed", dtype="float32", rows=17, columns=12),
]


def get_inputs(rows=17, columns=12):
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
