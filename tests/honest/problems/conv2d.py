"""A 3 by 3 convolution with padding 1 and a bias, as an nn.Conv2d."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3, padding=1)

    def forward(self, x):
        return self.conv(x)


CASES = [
    {"name": "timed", "dtype": "float32", "batch": 5, "channels": 4, "features": 7, "size": 33},
    {"name": "ragged", "dtype": "float32", "small": True, "batch": 2, "channels": 2, "features": 3, "size": 9},
]


def get_inputs(batch=5, channels=4, size=33):
    return [torch.randn(batch, channels, size, size)]


def get_init_inputs(channels=4, features=7):
    return [channels, features]
