"""Linear layer with int8 weights scaled by column."""

import torch
import torch.nn as nn

m = 512
n = 512
k = 1024

CASES = [
    dict(name="full", m=512, n=512, k=1024, dtype="float16"),
    dict(name="small", small=True, m=17, n=48, k=64, dtype="float16"),
]

LIBRARY = "any"


class Model(nn.Module):
    def forward(self, x, weight, scale):
        return x @ (weight.to(x.dtype) * scale)


def get_inputs():
    return [torch.randn(m, k), torch.randint(-100, 100, (k, n), dtype=torch.int8), (torch.rand(n) + 0.1) / 100]


def get_init_inputs():
    return []
