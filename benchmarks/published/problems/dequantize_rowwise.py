"""Whole numbers of eight bits times a scale of their row."""

import torch
import torch.nn as nn

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
    dict(name="small1", small=True, rows=3, cols=130, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, scale):
        return (scale[:, None] * x * (1 / 127)).half()


def get_inputs():
    return [torch.randint(-127, 128, (rows, cols), dtype=torch.int8), torch.rand(rows) + 0.1]


def get_init_inputs():
    return []
