"""Maximum over windows of 3 by 3, stride 2, padding 1."""

import torch
import torch.nn as nn
import torch.nn.functional as F

n = 8
size = 128

CASES = [
    dict(name="full", n=8, size=128, dtype="float16"),
    dict(name="small", small=True, n=2, size=11, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return F.max_pool2d(x, 3, 2, 1)


def get_inputs():
    return [torch.randn(n, 4, size, size)]


def get_init_inputs():
    return []
