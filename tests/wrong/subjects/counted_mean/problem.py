"""The sum of every row over a count; counts are whole numbers given as floats."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def forward(self, x, counts):
        return x.sum(dim=-1) / counts


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40), torch.tensor([7.0, 40.0, 3.0, 12.0, 25.0, 5.0]).repeat(rows // 6 + 1)[:rows]]


def get_init_inputs():
    return []
