"""The k largest values of each row, in descending order, and where they are."""

import torch
import torch.nn as nn

batch = 16
n = 12000
k = 16

CASES = [
    dict(name="ragged", batch=16, n=12000, k=16),
    dict(name="prefill", held_out=True, batch=64, n=8192, k=8),
]


class Model(nn.Module):
    def __init__(self, batch, n, k):
        super().__init__()
        self.k = k
        self.register_buffer("_dummy", torch.zeros(1))

    def forward(self, x):
        values, indices = torch.topk(x, k=self.k, dim=-1)
        return values, indices


def get_inputs():
    return [torch.randn(batch, n)]


def get_init_inputs():
    return [batch, n, k]
