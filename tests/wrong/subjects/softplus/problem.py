"""log(1 + exp(x))."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.softplus(x)


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return []
