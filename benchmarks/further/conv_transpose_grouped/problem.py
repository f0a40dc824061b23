"""A transposed convolution in 3D with groups and windows of 3 x 5 x 7: the computation, sizes and dtype of KernelBench's
level1/72."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, window, stride, padding, added, groups) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose3d(
            in_channels, out_channels, window, stride, padding, output_padding=added, groups=groups, bias=False
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.rand(8, 32, 12, 24, 48)]


def get_init_inputs():
    return [32, 32, (3, 5, 7), (2, 2, 2), (1, 2, 3), (1, 1, 1), 4]
