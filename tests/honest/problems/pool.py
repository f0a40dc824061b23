"""Maximum over windows of 3 × 3, stride 2, padded by 1."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride, padding)

    def forward(self, x):
        return self.pool(x)


CASES = [
    dict(name="ragged", dtype="float32", small=True, channels=2, height=9, width=13),
    dict(name="timed", dtype="float32", channels=65, height=257, width=129),
]


def get_inputs(channels=2, height=9, width=13):
    return [torch.randn(2, channels, height, width)]


def get_init_inputs():
    return [3, 2, 1]
