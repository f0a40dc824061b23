import torch
import torch.nn as nn


class Model(nn.Module):
    """
    A convolution, then a bias that is a parameter of its own, with its shape as an init input.
    """

    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super(Model, self).__init__()  # noqa: UP008
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return torch.relu(self.conv(x) + self.bias) * self.gain


batch_size = 2
in_channels = 3
out_channels = 5
height, width = 9, 8
kernel_size = 3
bias_shape = (out_channels, 1, 1)


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, bias_shape]
