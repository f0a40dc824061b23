"""A transposed convolution, scaled, and averages over windows of 2 x 2 x 2: the computation, sizes and dtype of
KernelBench's level2/50."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, window, stride, padding, scale1, scale2, bias_shape) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, window, stride=stride, padding=padding)
        self.scale1 = nn.Parameter(torch.tensor(scale1))
        self.pool = nn.AvgPool3d(2)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scale2 = nn.Parameter(torch.tensor(scale2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.pool(self.conv(x) * self.scale1) + self.bias) * self.scale2


def get_inputs():
    return [torch.rand(128, 3, 16, 32, 32)]


def get_init_inputs():
    return [3, 16, 3, 2, 1, 0.5, 1.0, (16, 1, 1, 1)]
