"""Products of rows whose first half is small and whose second half is large."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.prod(-1)


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=9, columns=18),
    dict(name="timed", dtype="float32", rows=33, columns=18),
]


def get_inputs(rows=33, columns=18):
    return [
        torch.tensor([1e-4, 1.1e4]).repeat_interleave(columns // 2) * (1 + torch.rand(rows, columns // 2 * 2) / columns)
    ]


def get_init_inputs():
    return []
