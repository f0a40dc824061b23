"""One stage of a waveform generator: a transposed convolution that upsamples, then the mean of residual stacks with
different kernel sizes and dilations."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
in_channels = 256
out_channels = 128
frames = 1024
rate = 8


class DilatedStack(nn.Module):
    def __init__(self, channels, kernel, dilations):
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel, dilation=d, padding=d * (kernel - 1) // 2) for d in dilations
        )

    def forward(self, x):
        for conv in self.convs:
            x = x + conv(F.leaky_relu(x, 0.1))
        return x


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, rate, kernels=(3, 7, 11), dilations=(1, 3, 5)):
        super().__init__()
        self.up = nn.ConvTranspose1d(in_channels, out_channels, 2 * rate, stride=rate, padding=rate // 2)
        self.stacks = nn.ModuleList(DilatedStack(out_channels, kernel, dilations) for kernel in kernels)

    def forward(self, x):
        x = self.up(F.leaky_relu(x, 0.1))
        total = None
        for stack in self.stacks:
            y = stack(x)
            total = y if total is None else total + y
        return total / len(self.stacks)


def get_inputs():
    return [torch.randn(batch_size, in_channels, frames)]


def get_init_inputs():
    return [in_channels, out_channels, rate]
