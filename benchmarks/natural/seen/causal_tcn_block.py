"""Block of a temporal convolutional network: two causal, dilated, weight-normalised convolutions and a residual."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 64
in_channels = 64
out_channels = 128
seq_len = 1000
dilation = 4


class CausalConv(nn.Module):
    def __init__(self, cin, cout, kernel_size, dilation):
        super().__init__()
        self.left = (kernel_size - 1) * dilation
        self.dilation = dilation
        self.v = nn.Parameter(torch.randn(cout, cin, kernel_size) * 0.05)
        self.g = nn.Parameter(torch.ones(cout, 1, 1))
        self.bias = nn.Parameter(torch.zeros(cout))

    def forward(self, x):
        norm = self.v.flatten(1).norm(dim=1).view(-1, 1, 1)
        weight = self.g * self.v / norm
        return F.conv1d(F.pad(x, (self.left, 0)), weight, self.bias, dilation=self.dilation)


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, dilation):
        super().__init__()
        self.conv1 = CausalConv(in_channels, out_channels, kernel_size, dilation)
        self.conv2 = CausalConv(out_channels, out_channels, kernel_size, dilation)
        self.downsample = nn.Conv1d(in_channels, out_channels, 1) if in_channels != out_channels else None

    def forward(self, x):
        out = F.relu(self.conv1(x))
        out = F.relu(self.conv2(out))
        residual = x if self.downsample is None else self.downsample(x)
        return F.relu(out + residual)


def get_inputs():
    return [torch.randn(batch_size, in_channels, seq_len)]


def get_init_inputs():
    return [in_channels, out_channels, 3, dilation]
