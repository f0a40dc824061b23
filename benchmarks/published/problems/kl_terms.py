"""The terms of a Kullback-Leibler divergence."""

import torch
import torch.nn as nn

count = 1048576

CASES = [
    dict(name="full", count=1048576, dtype="float32"),
    dict(name="small", small=True, count=1500, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, y):
        return x * torch.log(x / y)


def get_inputs():
    return [torch.rand(count) + 0.1, torch.rand(count) + 0.1]


def get_init_inputs():
    return []
