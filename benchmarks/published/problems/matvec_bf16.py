"""Matrix times a column."""

import torch
import torch.nn as nn

m = 2048
k = 4096

CASES = [
    dict(name="full", m=2048, k=4096, dtype="bfloat16"),
    dict(name="small", small=True, m=37, k=70, dtype="bfloat16"),
]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, 1) / k**0.5]


def get_init_inputs():
    return []
