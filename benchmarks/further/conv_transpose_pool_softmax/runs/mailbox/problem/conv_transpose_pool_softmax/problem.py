"""A transposed convolution, a max-pooling, a softmax over channels, and what follows: the computation, sizes and dtype
of KernelBench's level2/89."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, window: int, stride: int, padding: int, added: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, window, stride, padding, output_padding=added)
        self.pool = nn.MaxPool3d(2, 2, 0)
        self.subtract = nn.Parameter(torch.randn(out_channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(self.pool(self.conv(x)), dim=1) - self.subtract.view(1, -1, 1, 1, 1)
        return torch.max(torch.sigmoid(y) * y, dim=1)[0]


def get_inputs():
    return [torch.rand(128, 3, 16, 32, 32)]


def get_init_inputs():
    return [3, 16, 3, 2, 1, 1]
