"""A scaled hyperbolic tangent with a weight and a bias for each column."""

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
    def forward(self, x, alpha, weight, bias):
        return weight * torch.tanh(alpha * x) + bias


def get_inputs():
    return [torch.randn(rows, cols), torch.rand(1) + 0.5, torch.randn(cols), torch.randn(cols)]


def get_init_inputs():
    return []
