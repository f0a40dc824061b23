"""1D convolution with bias, padding 1."""

import torch
import torch.nn as nn
import torch.nn.functional as F

n = 16
size = 512

CASES = [
    dict(name="full", n=16, size=512, dtype="float16"),
    dict(name="small", small=True, n=2, size=19, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight, bias):
        return F.conv1d(x, weight, bias, padding=1)


def get_inputs():
    return [torch.randn(n, 5, size), torch.randn(7, 5, 3) / 4, torch.randn(7)]


def get_init_inputs():
    return []
