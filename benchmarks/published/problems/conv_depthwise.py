"""Depthwise 2D convolution, padding 1."""

import torch
import torch.nn as nn
import torch.nn.functional as F

n = 8
size = 64

CASES = [
    dict(name="full", n=8, size=64, dtype="float16"),
    dict(name="small", small=True, n=2, size=9, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight):
        return F.conv2d(x, weight, padding=1, groups=6)


def get_inputs():
    return [torch.randn(n, 6, size, size), torch.randn(6, 1, 3, 3) / 3]


def get_init_inputs():
    return []
