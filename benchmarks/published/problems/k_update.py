"""Keys scaled by 1 + (a - 1) ka."""

import torch
import torch.nn as nn

batch = 4
length = 512
width = 1024

CASES = [
    dict(name="full", batch=4, length=512, width=1024, dtype="bfloat16"),
    dict(name="small", small=True, batch=2, length=5, width=33, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, k, a, ka):
        return k * (1 + (a - 1) * ka)


def get_inputs():
    return [torch.randn(batch, length, width), torch.randn(batch, length, width), torch.randn(width)]


def get_init_inputs():
    return []
