"""PReLU with a slope of its own for every column."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.full((40,), 0.25))

    def forward(self, x):
        return torch.where(x >= 0, x, x * self.slope)


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return []
