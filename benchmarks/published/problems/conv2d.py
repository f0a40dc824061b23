"""2D convolution with bias, padding 1."""

import torch
import torch.nn as nn
import torch.nn.functional as F

n = 8
cin = 32
cout = 64
size = 32

CASES = [
    dict(name="full", n=8, cin=32, cout=64, size=32, dtype="float16"),
    dict(name="small", small=True, n=2, cin=5, cout=7, size=9, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight, bias):
        return F.conv2d(x, weight, bias, padding=1)


def get_inputs():
    return [torch.randn(n, cin, size, size), torch.randn(cout, cin, 3, 3) / (3 * cin**0.5), torch.randn(cout)]


def get_init_inputs():
    return []
