"""x * weight + bias, both initialised between 0 and 1."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(40))
        self.bias = nn.Parameter(torch.rand(40))

    def forward(self, x):
        return x * self.weight + self.bias


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return []
