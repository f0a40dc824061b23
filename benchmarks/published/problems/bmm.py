"""Batched matrix product."""

import torch
import torch.nn as nn

batch = 8
m = 512
n = 256
k = 512

CASES = [
    dict(name="full", batch=8, m=512, n=256, k=512, dtype="float16"),
    dict(name="small", small=True, batch=2, m=17, n=40, k=48, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(batch, m, k), torch.randn(batch, k, n) / k**0.5]


def get_init_inputs():
    return []
