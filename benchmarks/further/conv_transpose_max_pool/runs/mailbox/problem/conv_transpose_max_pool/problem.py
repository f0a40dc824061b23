"""A transposed convolution in 3D with stride 2, a multiplier between two leaky ReLUs, and max-pooling over cells of 2 x 2 x 2:
the computation, sizes and dtype of KernelBench's level2/74."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int, output_padding: int,
        multiplier_shape: tuple,
    ):  # fmt: skip
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, output_padding=output_padding
        )
        self.multiplier = nn.Parameter(torch.randn(multiplier_shape))
        self.leaky_relu = nn.LeakyReLU(negative_slope=0.2)
        self.max_pool = nn.MaxPool3d(kernel_size=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled = self.leaky_relu(self.conv_transpose(x)) * self.multiplier
        return self.max_pool(self.leaky_relu(scaled))


batch_size = 16
in_channels = 16
out_channels = 32
depth = 16
height = 32
width = 32
kernel_size = 3
stride = 2
padding = 1
output_padding = 1
multiplier_shape = (out_channels, 1, 1, 1)


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, output_padding, multiplier_shape]
