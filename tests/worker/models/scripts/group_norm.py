"""A residual block of a UNet with GroupNorm and SiLU, at two resolutions."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)
        self.conv, self.last = nn.Conv2d(channels, channels, 3, padding=1), nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(24, channels)

    def forward(self, x, time):
        y = self.conv(F.silu(self.first(x))) + self.time(F.silu(time))[:, :, None, None]
        return x + self.last(F.silu(self.second(y)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.high, self.low = Block(32), Block(64)
        self.down = nn.Conv2d(32, 64, 3, stride=2, padding=1)

    def forward(self, x, time):
        return self.low(self.down(self.high(x, time)), time)


def build():
    return Net()


def inputs():
    return {"step": {"x": torch.randn(2, 32, 32, 32), "time": torch.randn(2, 24)}}
