"""Residual block of a diffusion U-Net: group norms, SiLU, two convolutions, and a scale and shift from the time
embedding. The skip is a 1x1 convolution where the number of channels changes."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
in_channels = 320
out_channels = 640
resolution = 32
embedding_dim = 1280


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, embedding_dim, groups=32):
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, in_channels, eps=1e-5)
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.time = nn.Linear(embedding_dim, 2 * out_channels)
        self.norm2 = nn.GroupNorm(groups, out_channels, eps=1e-5)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1)
        if in_channels == out_channels:
            self.skip = nn.Identity()
        else:
            self.skip = nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x, embedding):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.time(F.silu(embedding))[:, :, None, None].chunk(2, dim=1)
        h = self.norm2(h) * (1 + scale) + shift
        h = self.conv2(F.silu(h))
        return self.skip(x) + h


def get_inputs():
    return [
        torch.randn(batch_size, in_channels, resolution, resolution),
        torch.randn(batch_size, embedding_dim),
    ]


def get_init_inputs():
    return [in_channels, out_channels, embedding_dim]
