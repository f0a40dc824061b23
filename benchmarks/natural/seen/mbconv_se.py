"""Inverted residual block of a mobile convnet: expand, depthwise convolution, squeeze and excite, project, add."""

import torch
import torch.nn as nn

batch_size = 128
channels = 80
height = width = 28
expansion = 6


class SqueezeExcite(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.reduce = nn.Conv2d(channels, squeezed, 1)
        self.expand = nn.Conv2d(squeezed, channels, 1)
        self.act = nn.SiLU()

    def forward(self, x):
        pooled = x.mean(dim=(2, 3), keepdim=True)
        return x * torch.sigmoid(self.expand(self.act(self.reduce(pooled))))


class Model(nn.Module):
    def __init__(self, channels, expansion, kernel_size=5, se_ratio=0.25):
        super().__init__()
        mid = channels * expansion
        self.expand = nn.Sequential(
            nn.Conv2d(channels, mid, 1, bias=False),
            nn.BatchNorm2d(mid, eps=1e-3),
            nn.SiLU(),
        )
        self.depthwise = nn.Sequential(
            nn.Conv2d(mid, mid, kernel_size, padding=kernel_size // 2, groups=mid, bias=False),
            nn.BatchNorm2d(mid, eps=1e-3),
            nn.SiLU(),
        )
        self.se = SqueezeExcite(mid, int(channels * se_ratio))
        self.project = nn.Sequential(nn.Conv2d(mid, channels, 1, bias=False), nn.BatchNorm2d(channels, eps=1e-3))

    def forward(self, x):
        y = self.expand(x)
        y = self.depthwise(y)
        y = self.se(y)
        return x + self.project(y)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, expansion]
