"""Two blocks of a convolutional network: a depthwise convolution, LayerNorm of channels, GELU, a residual."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


def build():
    return nn.Sequential(nn.Conv2d(3, 32, 4, stride=4), Block(32), Block(32))


def inputs():
    return {"images": torch.randn(6, 3, 56, 56)}
