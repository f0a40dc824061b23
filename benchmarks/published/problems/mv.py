"""Matrix times vector."""

import torch
import torch.nn as nn

m = 4096
k = 2048

CASES = [
    dict(name="full", m=4096, k=2048, dtype="float32"),
    dict(name="small", small=True, m=37, k=70, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(m, k), torch.randn(k) / k**0.5]


def get_init_inputs():
    return []
