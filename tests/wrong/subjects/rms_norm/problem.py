"""RMSNorm over rows with the very small epsilon 1e-12."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(40))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-12) * self.weight


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return []
