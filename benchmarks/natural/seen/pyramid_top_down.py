"""Feature pyramid of a detector: lateral convolutions, a top-down path with nearest upsampling, smoothing, and one
extra coarse level."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
base = 64
in_channels = (256, 512, 1024)
out_channels = 256


class Model(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(c, out_channels, kernel_size=1) for c in in_channels)
        self.smooth = nn.ModuleList(
            nn.Conv2d(out_channels, out_channels, kernel_size=3, padding=1) for _ in in_channels
        )

    def forward(self, features):
        laterals = [conv(f) for conv, f in zip(self.lateral, features, strict=True)]
        for i in range(len(laterals) - 1, 0, -1):
            size = laterals[i - 1].shape[-2:]
            laterals[i - 1] = laterals[i - 1] + F.interpolate(laterals[i], size=size, mode="nearest")
        outs = [conv(f) for conv, f in zip(self.smooth, laterals, strict=True)]
        outs.append(F.max_pool2d(outs[-1], kernel_size=1, stride=2))
        return outs


def get_inputs():
    features = []
    size = base
    for channels in in_channels:
        features.append(torch.randn(batch_size, channels, size, size))
        size //= 2
    return [features]


def get_init_inputs():
    return [list(in_channels), out_channels]
