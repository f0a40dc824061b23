"""Twice the height and width, nearest element."""

import torch
import torch.nn as nn
import torch.nn.functional as F

n = 8
size = 64

CASES = [
    dict(name="full", n=8, size=64, dtype="float16"),
    dict(name="small", small=True, n=2, size=7, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return F.interpolate(x, scale_factor=2, mode="nearest")


def get_inputs():
    return [torch.randn(n, 4, size, size)]


def get_init_inputs():
    return []
